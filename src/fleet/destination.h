/* SPDX-License-Identifier: MIT */
/* Somewhere that batches go: what a sender needs to know of a kind of server. Inside fleet/ only. */
#pragma once

#include "fleet/batch.h"
#include "fleet/http_client.h"
#include "fleet/server_url.h"

struct destination {
        size_t max_batches; /* that may be sent at once: all or none of them are there then */
        /* 0: the server has them, for good. -EBADMSG: it refuses these, and may take others. -EEXIST: it must not
         * have them, or, of several, one of them: they would count twice. Else -errno: it is away, or ill. */
        int (*send)(struct destination *d, struct fleet_batch *const *batches, size_t n,
                    struct err *reterr);
        void (*free)(void *ctx);
        void *ctx;
        char note[300]; /* something worth saying about what was sent; "" nothing */
};

int clickhouse_open(const struct server_url *url, const struct http_client_options *o,
                    struct destination *ret, struct err *reterr);
/* Profiles: each snapshot is one, and may get there twice when an answer is lost. */
int pyroscope_open(const struct server_url *url, const struct http_client_options *o,
                   struct destination *ret, struct err *reterr);
int otlp_open(const struct server_url *url, const struct http_client_options *o,
              struct destination *ret, struct err *reterr);

/* The four figures of a site that profiles have, and what they are called there. */
enum { PROFILE_N_VALUES = 4 };
struct profile_value {
        const char *type, *unit;
};
extern const struct profile_value profile_values[PROFILE_N_VALUES];
void profile_site_values(const struct fleet_site *s, int64_t ret[PROFILE_N_VALUES]);
