/* SPDX-License-Identifier: MIT */
/* For tests: requests drawn at random, as the keys and values somebody might send. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RANDOM_REQUEST_MAX = 12 };

struct random_pair {
        const char *key;
        const char *value; /* NULL: a flag */
};

struct random_request {
        struct random_pair pairs[RANDOM_REQUEST_MAX];
        size_t n;
};

/* Of one seed always the same; all can be asked of a report, of one recording or another. */
void random_request_draw(struct random_request *r, uint64_t seed);
