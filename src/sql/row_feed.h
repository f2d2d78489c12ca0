/* SPDX-License-Identifier: MIT */
/* Rows that one thread reads from a trace while SQLite takes them: a scan costs the larger of both and not the sum. The first few
 * are read by whoever takes them, so that a short answer pays for no thread. Inside sql/ only.
 *
 *   row_feed_begin(&feed, &(struct row_feed_source){q, reader, fill, rows, sizeof(struct row)});
 *   while ((r = row_feed_next(&feed, &batch, &err)) > 0)      // so many rows
 *           …
 *   row_feed_end(&feed);                                      // then what fill uses may be freed
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "query/query.h"

enum { ROW_FEED_FIRST_ROWS = 64, ROW_FEED_BATCH_ROWS = 4096, ROW_FEED_BATCHES = 4 };

struct row_feed_source {
        struct query *asked; /* says when to stop; used by the taker alone */
        struct query
                *reader; /* that fill reads with; its progress is the feed's until row_feed_end */
        /* So many rows in ret, at most cap; 0: that was all; or -errno. Called by one thread at a time. */
        int (*fill)(void *ctx, void *ret, size_t cap, struct err *reterr);
        void *ctx;
        size_t row_bytes;
};

/* Zeroed: neither begun nor in need of an end. */
struct row_feed {
        struct row_feed_source from;
        char *batches[ROW_FEED_BATCHES]; /* the first is small while there is no thread */
        int n_rows[ROW_FEED_BATCHES];    /* as fill returned */
        bool is_long;                    /* the first rows are not all */
        bool has_thread;                 /* then */
        bool is_alone;                   /* there can be none */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t is_filled, is_taken;
        /* under the lock: batches made and given back so far */
        uint64_t n_filled, n_taken;
        struct err err;        /* of the last batch */
        atomic_bool is_to_end; /* set by the taker, read by the thread */
        bool is_over;          /* the taker has seen the end */
};

void row_feed_begin(struct row_feed *f, const struct row_feed_source *from);
/* How many rows there are in *ret now, valid until the next call; 0: that was all; or -errno. */
int row_feed_next(struct row_feed *f, const void **ret, struct err *reterr);
void row_feed_end(struct row_feed *f);
