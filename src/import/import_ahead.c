/* SPDX-License-Identifier: MIT */
#include "import/import_ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum { AHEAD_PIECES = 4, AHEAD_PIECE_BYTES = 1 << 20 };

struct import_ahead {
        import_ahead_fn make;
        void *ctx;
        pthread_t thread;
        pthread_mutex_t lock; /* over all below, but for bytes of a piece that one side owns */
        pthread_cond_t changed;
        struct {
                uint8_t *bytes;
                size_t n;
        } pieces[AHEAD_PIECES];
        uint64_t n_made, n_taken; /* pieces; between the two they are the taker's */
        size_t taken_bytes;       /* of the piece at hand */
        bool is_over, is_stopped;
        ssize_t last; /* how it was over: 0 or -errno */
        struct err err;
};

/* As much as a piece holds, so that the two threads meet seldom. */
static ssize_t fill_piece(struct import_ahead *a, uint8_t *bytes, size_t *ret_n) {
        ssize_t r = 1;

        *ret_n = 0;
        while (r > 0 && AHEAD_PIECE_BYTES - *ret_n >= AHEAD_PIECE_BYTES / 4) {
                r = a->make(a->ctx, bytes + *ret_n, AHEAD_PIECE_BYTES - *ret_n, &a->err);
                *ret_n += r > 0 ? (size_t)r : 0;
        }
        return r;
}

static void *run(void *ctx) {
        struct import_ahead *a = ctx;
        ssize_t r = 1;

        while (r > 0) {
                size_t slot, n;

                pthread_mutex_lock(&a->lock);
                while (a->n_made - a->n_taken == AHEAD_PIECES && !a->is_stopped)
                        pthread_cond_wait(&a->changed, &a->lock);
                slot = a->n_made % AHEAD_PIECES;
                r = a->is_stopped ? 0 : 1;
                pthread_mutex_unlock(&a->lock);
                if (r == 0)
                        break;
                r = fill_piece(a, a->pieces[slot].bytes, &n);
                pthread_mutex_lock(&a->lock);
                a->pieces[slot].n = n;
                a->n_made += n > 0;
                a->is_over = r <= 0;
                a->last = r;
                pthread_cond_signal(&a->changed);
                pthread_mutex_unlock(&a->lock);
        }
        return NULL;
}

struct import_ahead *import_ahead_start(import_ahead_fn make, void *ctx) {
        struct import_ahead *a = calloc(1, sizeof(*a));

        if (!a)
                abort();
        a->make = make;
        a->ctx = ctx;
        pthread_mutex_init(&a->lock, NULL);
        pthread_cond_init(&a->changed, NULL);
        for (size_t i = 0; i < AHEAD_PIECES; i++)
                if (!(a->pieces[i].bytes = malloc(AHEAD_PIECE_BYTES)))
                        abort();
        if (pthread_create(&a->thread, NULL, run, a) != 0) {
                a->is_stopped = true;
                a->make = NULL; /* nobody to wait for */
                return import_ahead_stop(a);
        }
        return a;
}

ssize_t import_ahead_take(struct import_ahead *a, uint8_t *to, size_t cap, struct err *reterr) {
        size_t slot, n;
        bool is_there;

        pthread_mutex_lock(&a->lock);
        while (a->n_made == a->n_taken && !a->is_over)
                pthread_cond_wait(&a->changed, &a->lock);
        is_there = a->n_made != a->n_taken;
        slot = a->n_taken % AHEAD_PIECES;
        pthread_mutex_unlock(&a->lock);
        if (!is_there) {
                if (a->last < 0 && reterr)
                        *reterr = a->err;
                return a->last;
        }
        n = MIN(cap, a->pieces[slot].n - a->taken_bytes);
        memcpy(to, a->pieces[slot].bytes + a->taken_bytes, n);
        a->taken_bytes += n;
        if (a->taken_bytes == a->pieces[slot].n) {
                a->taken_bytes = 0;
                pthread_mutex_lock(&a->lock);
                a->n_taken++;
                pthread_cond_signal(&a->changed);
                pthread_mutex_unlock(&a->lock);
        }
        return (ssize_t)n;
}

struct import_ahead *import_ahead_stop(struct import_ahead *a) {
        if (!a)
                return NULL;
        if (a->make) {
                pthread_mutex_lock(&a->lock);
                a->is_stopped = true;
                pthread_cond_signal(&a->changed);
                pthread_mutex_unlock(&a->lock);
                pthread_join(a->thread, NULL);
        }
        pthread_mutex_destroy(&a->lock);
        pthread_cond_destroy(&a->changed);
        for (size_t i = 0; i < AHEAD_PIECES; i++)
                free(a->pieces[i].bytes);
        free(a);
        return NULL;
}
