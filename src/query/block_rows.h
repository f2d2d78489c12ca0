/* SPDX-License-Identifier: MIT */
/* Every allocation of a trace as a row, many at a time: for those who ask about single blocks and know what they need of them.
 *
 *   struct query_block_ask ask = QUERY_BLOCK_ASK_ALL;
 *   ask.ranges[QUERY_BLOCK_BYTES].low = 1 << 20;              // checked before a row is told
 *   query_block_rows_open(q, &ask, &rows);
 *   while ((r = query_block_rows_fill(rows, buf, ARRAY_SIZE(buf), &err)) > 0)
 *           put(buf, (size_t)r);
 *   query_block_rows_free(rows);
 *
 * One pass over the slices that can have such allocations. Without the release nothing else is read, and rows come in the order of
 * time; with it the pass goes on until all of them are released or the trace ends, with a table of those alive, and rows come in the
 * order of releases, those that have none last. A block is a row of the process that allocated it; what children do with
 * their copies is no release of it. As query_blocks tells them. */
#pragma once

#include "query/query.h"

enum query_block_key {
        QUERY_BLOCK_TIME,
        QUERY_BLOCK_SEQ,
        QUERY_BLOCK_STACK,
        QUERY_BLOCK_BYTES,
        QUERY_BLOCK_THREAD,
        QUERY_BLOCK_PROCESS,
        QUERY_BLOCK_LIFETIME, /* this one and the next: with_release */
        QUERY_BLOCK_FREED,    /* a row without release has UINT64_MAX */
        QUERY_N_BLOCK_KEYS,
};

struct query_value_range {
        uint64_t low, high; /* both in it */
};

static inline bool query_range_has(const struct query_value_range *r, uint64_t value) {
        return value >= r->low && value <= r->high;
}

/* Whether one of them has nothing in it. */
static inline bool query_ranges_are_empty(const struct query_value_range *r, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (r[i].low > r[i].high)
                        return true;
        return false;
}

struct query_block_ask {
        uint32_t process; /* that allocated it, or QUERY_ALL */
        struct query_value_range ranges[QUERY_N_BLOCK_KEYS];
        bool with_release; /* freed_ns and what follows from it */
        bool with_address; /* where the trace has addresses */
        bool only_seq; /* of a row nothing else is looked at: where all are asked for, no event is read */
};

#define QUERY_BLOCK_ASK_ALL                                                                        \
        (struct query_block_ask) {                                                                 \
                .process = QUERY_ALL, .ranges = {                                                  \
                        [0 ... QUERY_N_BLOCK_KEYS - 1] = {0, UINT64_MAX},                          \
                }                                                                                  \
        }

struct query_block_row {
        uint64_t seq, time_ns, size_bytes, address;
        uint64_t freed_ns; /* UINT64_MAX: not released, or not asked for */
        uint32_t stack, thread, n_blocks;
        uint32_t freed_by;    /* thread; TRACE_NO_THREAD: not released, or nobody saw it */
        uint32_t freed_stack; /* 0: not known */
        bool is_temporary, by_realloc;
};

struct query_block_rows;
void query_block_rows_open(struct query *q, const struct query_block_ask *ask,
                           struct query_block_rows **ret);
/* How many rows there are in ret now, at most cap; 0: that was all; or -ECANCELED, -ETIME. */
int query_block_rows_fill(struct query_block_rows *b, struct query_block_row *ret, size_t cap,
                          struct err *reterr);
bool query_block_rows_is_exact(const struct query_block_rows *b);           /* so far */
struct query_block_rows *query_block_rows_free(struct query_block_rows *b); /* NULL ok; NULL */
DEFINE_CLEANUP(struct query_block_rows, query_block_rows_free)

/* To its release, or where there is none to the end of its process or of the recording. */
uint64_t query_block_lifetime_ns(const struct query *q, const struct query_block_row *row);

/* Blocks alive at a moment, as answers about a window that ends there count them: of one process also those it inherited. Of all
 * together a block is its allocator's alone: where children outlive their parents, those that have passed on to them are missing.
 * *ret_is_exact is whether they add up to what history says was alive. */
struct query_live_block {
        uint64_t seq, time_ns, size_bytes;
        uint64_t freed_ns; /* UINT64_MAX: not released, or not asked for */
        uint32_t stack, thread, n_blocks;
        uint32_t process; /* that holds it */
};
typedef bool (*query_live_block_fn)(void *ctx, const struct query_live_block *b);
int query_live_blocks(struct query *q, uint32_t process, uint64_t at_ns, bool with_release,
                      query_live_block_fn fn, void *ctx, bool *ret_is_exact, struct err *reterr);
/* Those that made the peak: alive right behind the event with which it was reached, whatever else happened at the same time. Their sum
 * is compared with what history says of the peak; of a recording of samples with its curve. */
int query_peak_blocks(struct query *q, uint32_t process, bool with_release, query_live_block_fn fn,
                      void *ctx, bool *ret_is_exact, struct err *reterr);
