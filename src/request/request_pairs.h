/* SPDX-License-Identifier: MIT */
/* A request as the keys and values that make it again, in the order of request_keys(). Inside request/ only. */
#pragma once

#include "request/request.h"

enum request_pairs {
        REQUEST_PROCESS_PAIR = 1,
        REQUEST_WINDOW_PAIRS = 2,
        REQUEST_FILTER_PAIRS = 4,
        REQUEST_SHAPE_PAIRS = 8,
        REQUEST_RULES_PAIRS = 16,
        REQUEST_ALL_PAIRS = 31,
};

/* value: NULL for a flag; valid during the call. */
typedef void (*request_pair_fn)(void *ctx, const struct request_key *key, const char *value);
void request_each_pair(const struct request *r, unsigned which, request_pair_fn fn, void *ctx);
