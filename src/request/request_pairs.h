/* SPDX-License-Identifier: MIT */
/* A request as the keys and values that make it again, in the order of request_keys(). Inside request/ only. */
#pragma once

#include "request/request.h"

enum request_pairs { REQUEST_SCOPE_PAIRS = 1, REQUEST_SHAPE_PAIRS = 2, REQUEST_ALL_PAIRS = 3 };

/* value: NULL for a flag; valid during the call. */
typedef void (*request_pair_fn)(void *ctx, const struct request_key *key, const char *value);
void request_each_pair(const struct request *r, unsigned which, request_pair_fn fn, void *ctx);
