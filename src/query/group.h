/* SPDX-License-Identifier: MIT */
/* What the two ways of grouping share: by call path and block by block. Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/block_life.h"
#include "query/call_path.h"
#include "query/query.h"

/* A number for each group, the same for everything that belongs to it. */
struct group_keys {
        enum query_by by;
        struct call_paths paths; /* of groups by call path */
};

bool group_is_by_block(enum query_by by); /* thread, size: call paths do not tell */
void group_keys_init(struct group_keys *k, struct query *q, const struct query_group_options *o);
void group_keys_done(struct group_keys *k);
uint64_t group_keys_of_stack(struct group_keys *k, uint32_t stack);
uint64_t group_keys_of_life(struct group_keys *k, const struct query_life *l);
uint64_t group_keys_of_row(struct group_keys *k, const struct query_group *row);
