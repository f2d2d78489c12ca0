/* SPDX-License-Identifier: MIT */
/* What senders of profiles share: a client, an address, and what answers mean. Inside fleet/ only. */
#pragma once

#include "fleet/destination.h"

struct profile_client {
        struct server_url url;
        struct http_client *http;
};

int profile_client_new(const struct server_url *url, const struct http_client_options *o,
                       struct profile_client **ret, struct err *reterr);
void profile_client_free(void *client);

/* 0: it was taken, and *answer is what was said. -EBADMSG: refused; else -errno: later. */
int profile_client_post(struct profile_client *c, const char *parameters,
                        const struct http_request *q, struct str *answer, struct err *reterr);
