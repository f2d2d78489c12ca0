/* SPDX-License-Identifier: MIT */
/* Snapshots of one recording, one after the other: what each call path held at a moment, and what it allocated since the moment before.
 * What was allocated is the difference of two sums from the beginning, by call path of the trace: whatever becomes of names and of
 * detail in between, no allocation is told twice or left out. */
#pragma once

#include "fleet/batch.h"
#include "name/name.h"
#include "query/query.h"

struct site_sum {
        uint64_t n_allocs, alloc_bytes;
};

struct site_taker {
        /* Of its own, by the rules alone: what a trace teaches about wrappers (query_learn_wrappers) depends on how much of it there is,
         * and a call path would be another on each host and later in the same recording. */
        struct names *names;
        size_t max_paths;          /* of a snapshot; the rest is one of its own */
        uint64_t last_ms;          /* moment of the last one; 0: none */
        VEC(struct site_sum) sums; /* by stack, at that moment */
        uint64_t n_allocs, alloc_bytes, n_frees, n_failed, n_lost;
};

/* last_ms: the moment from which it goes on: everything before was taken by another. 0: nothing was. */
int site_taker_init(struct site_taker *t, struct query *q, const struct name_sources *rules,
                    size_t max_paths, uint64_t last_ms, struct err *reterr);
void site_taker_done(struct site_taker *t);

/* Adds the snapshot of the moment `at_ms` to the batch; is_last: of the end, whose moment that is. */
int site_taker_take(struct site_taker *t, struct query *q, uint64_t at_ms, bool is_last,
                    struct fleet_batch *b, struct err *reterr);

/* A part of the trace is missing, so figures may be wrong. */
bool site_taker_is_damaged(struct query *q);

/* Build-id of the program's file in hex; "" none, or not known yet. */
void site_taker_build(struct query *q, struct str *ret);

/* Which recording it is. The texts are the query's, and *build's, or as given. */
void site_taker_run(struct query *q, const char *service, const char *host, struct str *build,
                    struct fleet_run *ret);
