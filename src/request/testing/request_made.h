/* SPDX-License-Identifier: MIT */
/* For tests: requests written down in short, "tree&by=growth". */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/request.h"

static inline void request_ask(struct request *r, const char *url) {
        struct err err = {0};

        if (request_parse_url(r, url, strlen(url), &err) >= 0)
                return;
        fprintf(stderr, "'%s': %s\n", url, err.text);
        abort();
}

/* The caller's, for request_done(). */
static inline struct request request_made(const char *url) {
        struct request r = REQUEST_DEFAULT;

        request_ask(&r, url);
        return r;
}
