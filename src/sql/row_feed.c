/* SPDX-License-Identifier: MIT */
/* A ring of batches between a thread that reads and one that takes. The reader owns batches [n_filled, n_taken + ROW_FEED_BATCHES), the
 * taker [n_taken, n_filled): it gives the one it had back when it asks for the next. */
#include "sql/row_feed.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { LOOK_NS = 50000000 }; /* how long the taker waits before it looks whether it is to stop */

static char *batch_new(const struct row_feed *f, size_t n_rows) {
        char *rows = malloc(n_rows * f->from.row_bytes);

        if (!rows)
                abort();
        return rows;
}

static bool on_taker_progress(void *ctx, uint64_t done, uint64_t total) {
        const struct row_feed *f = ctx;

        return query_tell_progress(f->from.asked, done, total, NULL) >= 0;
}

static bool on_thread_progress(void *ctx, uint64_t done, uint64_t total) {
        const struct row_feed *f = ctx;

        (void)done, (void)total;
        return !atomic_load_explicit(&f->is_to_end,
                                     memory_order_relaxed); /* partner: row_feed_end */
}

void row_feed_begin(struct row_feed *f, const struct row_feed_source *from) {
        *f = (struct row_feed){.from = *from};
        f->batches[0] = batch_new(f, ROW_FEED_FIRST_ROWS);
        query_set_progress(from->reader, on_taker_progress, f);
}

/* ---- the reader -------------------------------------------------------------------------------- */

static void *read_rows(void *arg) {
        struct row_feed *f = arg;
        int r = 1;

        while (r > 0) {
                struct err err = {0};
                size_t i;
                bool is_to_end;

                pthread_mutex_lock(&f->lock);
                while (f->n_filled == f->n_taken + ROW_FEED_BATCHES &&
                       !atomic_load_explicit(&f->is_to_end, memory_order_relaxed))
                        pthread_cond_wait(&f->is_taken, &f->lock);
                is_to_end = atomic_load_explicit(&f->is_to_end, memory_order_relaxed);
                i = f->n_filled % ROW_FEED_BATCHES;
                pthread_mutex_unlock(&f->lock);
                if (is_to_end)
                        break;
                r = f->from.fill(f->from.ctx, f->batches[i], ROW_FEED_BATCH_ROWS, &err);
                pthread_mutex_lock(&f->lock);
                f->n_rows[i] = r;
                f->n_filled++;
                if (r < 0)
                        f->err = err;
                pthread_cond_signal(&f->is_filled);
                pthread_mutex_unlock(&f->lock);
        }
        return NULL;
}

/* Signals are for the threads that were there before. False: there is no room for another. */
static bool start_thread(struct row_feed *f) {
        sigset_t all, before;
        pthread_condattr_t by_monotonic;
        int r;

        free(f->batches[0]);
        for (size_t i = 0; i < ROW_FEED_BATCHES; i++)
                f->batches[i] = batch_new(f, ROW_FEED_BATCH_ROWS);
        pthread_mutex_init(&f->lock, NULL);
        pthread_cond_init(&f->is_taken, NULL);
        pthread_condattr_init(&by_monotonic);
        pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&f->is_filled, &by_monotonic);
        pthread_condattr_destroy(&by_monotonic);
        query_set_progress(f->from.reader, on_thread_progress, f);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&f->thread, NULL, read_rows, f);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                query_set_progress(f->from.reader, on_taker_progress, f);
        return r == 0;
}

/* ---- the taker --------------------------------------------------------------------------------- */

static struct timespec soon(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += LOOK_NS;
        if (t.tv_nsec >= 1000000000) {
                t.tv_nsec -= 1000000000;
                t.tv_sec++;
        }
        return t;
}

/* Under the lock, which it leaves while it asks whether to stop. */
static int wait_for_batch(struct row_feed *f, struct err *reterr) {
        while (f->n_filled == f->n_taken) {
                struct timespec until = soon();
                int r;

                if (pthread_cond_timedwait(&f->is_filled, &f->lock, &until) != ETIMEDOUT)
                        continue;
                pthread_mutex_unlock(&f->lock);
                r = query_tell_progress(f->from.asked, 0, 1, reterr);
                pthread_mutex_lock(&f->lock);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_batch(struct row_feed *f, bool gives_back, const void **ret, struct err *reterr) {
        size_t i;
        int r;

        pthread_mutex_lock(&f->lock);
        if (gives_back) {
                f->n_taken++;
                pthread_cond_signal(&f->is_taken);
        }
        r = wait_for_batch(f, reterr);
        i = f->n_taken % ROW_FEED_BATCHES;
        if (r >= 0) {
                r = f->n_rows[i];
                if (r < 0 && reterr)
                        *reterr = f->err;
        }
        pthread_mutex_unlock(&f->lock);
        *ret = f->batches[i];
        return r;
}

/* A reader that found fewer than there was room for is at its end, or close to it. */
static int take_alone(struct row_feed *f, const void **ret, struct err *reterr) {
        size_t cap = f->is_alone ? ROW_FEED_BATCH_ROWS : ROW_FEED_FIRST_ROWS;
        int r = f->from.fill(f->from.ctx, f->batches[0], cap, reterr);

        f->is_long = r == ROW_FEED_FIRST_ROWS;
        *ret = f->batches[0];
        return r;
}

int row_feed_next(struct row_feed *f, const void **ret, struct err *reterr) {
        bool gives_back = f->has_thread;
        int r;

        if (f->is_over)
                return 0;
        if (f->is_long && !f->has_thread && !f->is_alone) {
                f->has_thread = start_thread(f);
                f->is_alone = !f->has_thread;
        }
        r = f->has_thread ? take_batch(f, gives_back, ret, reterr) : take_alone(f, ret, reterr);
        f->is_over = r <= 0;
        return r;
}

void row_feed_end(struct row_feed *f) {
        if (!f->from.fill)
                return;
        if (f->has_thread) {
                pthread_mutex_lock(&f->lock);
                /* partner: on_thread_progress, and the wait of read_rows, for which the lock is held */
                atomic_store_explicit(&f->is_to_end, true, memory_order_relaxed);
                pthread_cond_signal(&f->is_taken);
                pthread_mutex_unlock(&f->lock);
                pthread_join(f->thread, NULL);
        }
        if (f->has_thread || f->is_alone) {
                pthread_mutex_destroy(&f->lock);
                pthread_cond_destroy(&f->is_filled);
                pthread_cond_destroy(&f->is_taken);
        }
        query_set_progress(f->from.reader, NULL, NULL);
        for (size_t i = 0; i < ROW_FEED_BATCHES; i++)
                free(f->batches[i]);
        *f = (struct row_feed){0};
}
