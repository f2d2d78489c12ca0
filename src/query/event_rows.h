/* SPDX-License-Identifier: MIT */
/* Allocations and releases as they happened, many at a time, as block_rows.h tells blocks. What is neither (lost, failed, unknown
 * releases) is left out. */
#pragma once

#include "query/block_rows.h"

enum query_event_key {
        QUERY_EVENT_TIME,
        QUERY_EVENT_BLOCK, /* seq, of a reallocation that of the new block; so are bytes and stack */
        QUERY_EVENT_BYTES,
        QUERY_EVENT_STACK,
        QUERY_EVENT_THREAD,
        QUERY_EVENT_PROCESS,
        QUERY_N_EVENT_KEYS,
};

struct query_event_ask {
        uint32_t process; /* whose threads they are of, or QUERY_ALL */
        struct query_value_range ranges[QUERY_N_EVENT_KEYS];
};

struct query_event_rows;
void query_event_rows_open(struct query *q, const struct query_event_ask *ask,
                           struct query_event_rows **ret);
/* As query_block_rows_fill. */
int query_event_rows_fill(struct query_event_rows *x, struct trace_event *ret, size_t cap,
                          struct err *reterr);
bool query_event_rows_is_exact(const struct query_event_rows *x);           /* so far */
struct query_event_rows *query_event_rows_free(struct query_event_rows *x); /* NULL ok; NULL */
DEFINE_CLEANUP(struct query_event_rows, query_event_rows_free)
