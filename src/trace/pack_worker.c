/* SPDX-License-Identifier: MIT */
#include "trace/pack_worker.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct pack_worker {
        struct trace_packer *packer; /* the thread's */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t has_work; /* the thread waits for it */
        pthread_cond_t has_done; /* the writer does */

        /* under lock */
        struct pack_job *job; /* NULL: none at work */
        bool is_ending_slice; /* its columns are in the encoder yet, or in buffers before it */
        uint32_t n_before;    /* such buffers */
        uint32_t first_buf, n_queued; /* of bufs */
        bool is_encoding;             /* one of the two has the encoder and the first buffer */
        uint32_t n_awaited;           /* buffers left when a writer that waits goes on */
        bool is_ending;

        struct trace_encoder *encoder;                 /* of who set is_encoding */
        struct trace_stage_buf *bufs[PACK_QUEUE_BUFS]; /* a ring; those not queued are empty */
};

void pack_job_take(struct pack_job *j, struct trace_encoder *e) {
        trace_encoder_end(e, j->slice, j->head, &j->body, &j->cuts);
        trace_encoder_begin(e, j->next_first_seq, j->next_begin_us);
}

void pack_job_run(const struct pack_job *j, struct trace_packer *p, bytes_buf *out) {
        size_t at = out->n;

        trace_packer_try_hard(p, j->is_hard);
        trace_chunk_append_columns(p, out, TRACE_EVTS, j->head, sizeof(j->head), &j->body, &j->cuts,
                                   0);
        if (j->is_sampled)
                trace_chunk_set_version(out->items + at, TRACE_EVTS_VERSION);
}

/* ---- either thread, under the lock ---------------------------------------------------------------- */

/* Buffers of the next slice wait until the columns of the last are out of the encoder. */
static bool worker_may_encode(const struct pack_worker *w) {
        return w->n_queued && !w->is_encoding && (!w->is_ending_slice || w->n_before);
}

static void worker_encode_first(struct pack_worker *w) {
        const struct trace_stage_buf *b = w->bufs[w->first_buf];

        w->is_encoding = true;
        pthread_mutex_unlock(&w->lock);
        trace_encode(w->encoder, b);
        pthread_mutex_lock(&w->lock);
        w->is_encoding = false;
        w->first_buf = (w->first_buf + 1) % PACK_QUEUE_BUFS;
        w->n_queued--;
        if (w->is_ending_slice)
                w->n_before--;
}

/* ---- the worker's --------------------------------------------------------------------------------- */

static void worker_pack(struct pack_worker *w) {
        struct pack_job *j = w->job;

        w->is_encoding = true;
        pthread_mutex_unlock(&w->lock);
        pack_job_take(j, w->encoder);
        pthread_mutex_lock(&w->lock);
        w->is_encoding = w->is_ending_slice = false;
        pthread_cond_signal(&w->has_done);
        pthread_mutex_unlock(&w->lock);
        vec_clear(&j->chunk);
        pack_job_run(j, w->packer, &j->chunk);
        pthread_mutex_lock(&w->lock);
        w->job = NULL;
        pthread_cond_signal(&w->has_done);
}

static void *pack_worker_thread(void *arg) {
        struct pack_worker *w = arg;

        pthread_mutex_lock(&w->lock);
        for (;;) {
                if (w->is_ending_slice && !w->n_before && !w->is_encoding) {
                        worker_pack(w);
                } else if (worker_may_encode(w)) {
                        worker_encode_first(w);
                        if (w->n_queued <= w->n_awaited)
                                pthread_cond_signal(&w->has_done);
                } else if (w->is_ending) {
                        break;
                } else {
                        pthread_cond_wait(&w->has_work, &w->lock);
                }
        }
        pthread_mutex_unlock(&w->lock);
        return NULL;
}

/* Signals are for the thread that waits for them. */
static int pack_worker_start(struct pack_worker *w) {
        sigset_t all, before;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&w->thread, NULL, pack_worker_thread, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r;
}

/* ---- the writer's --------------------------------------------------------------------------------- */

static struct pack_worker *pack_worker_done(struct pack_worker *w) {
        pthread_cond_destroy(&w->has_done);
        pthread_cond_destroy(&w->has_work);
        pthread_mutex_destroy(&w->lock);
        trace_packer_free(w->packer);
        for (size_t i = 0; i < PACK_QUEUE_BUFS; i++)
                free(w->bufs[i]);
        free(w);
        return NULL;
}

struct pack_worker *pack_worker_new(struct trace_encoder *e) {
        struct pack_worker *w = calloc(1, sizeof(*w));
        bool has_bufs = true;

        if (!w)
                return NULL;
        w->encoder = e;
        w->packer = trace_packer_new();
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->has_work, NULL);
        pthread_cond_init(&w->has_done, NULL);
        for (size_t i = 0; i < PACK_QUEUE_BUFS; i++) {
                w->bufs[i] = malloc(sizeof(*w->bufs[i]));
                has_bufs &= w->bufs[i] != NULL;
        }
        if (has_bufs && pack_worker_start(w) == 0)
                return w;
        return pack_worker_done(w);
}

/* Room for one more. One that has to wait does so for many, and not where the worker has other work than to make room. */
static void pack_worker_make_room(struct pack_worker *w) {
        while (w->n_queued == PACK_QUEUE_BUFS) {
                if (worker_may_encode(w)) {
                        worker_encode_first(w);
                        return;
                }
                w->n_awaited = PACK_RESUME_BUFS;
                do
                        pthread_cond_wait(&w->has_done, &w->lock);
                while (w->n_queued > PACK_RESUME_BUFS && (w->is_encoding || w->is_ending_slice));
        }
}

struct trace_stage_buf *pack_worker_put(struct pack_worker *w, struct trace_stage_buf *full) {
        struct trace_stage_buf **at, *empty;

        pthread_mutex_lock(&w->lock);
        pack_worker_make_room(w);
        assert(w->n_queued < PACK_QUEUE_BUFS);
        at = &w->bufs[(w->first_buf + w->n_queued) % PACK_QUEUE_BUFS];
        empty = *at;
        *at = full;
        w->n_queued++;
        if (w->n_queued >= PACK_WAKE_BUFS)
                pthread_cond_signal(&w->has_work);
        pthread_mutex_unlock(&w->lock);
        return empty;
}

void pack_worker_begin(struct pack_worker *w, struct pack_job *j) {
        pthread_mutex_lock(&w->lock);
        assert(!w->job);
        w->job = j;
        w->is_ending_slice = true;
        w->n_before = w->n_queued;
        pthread_cond_signal(&w->has_work);
        pthread_mutex_unlock(&w->lock);
}

/* Helps as long as there is something to encode. */
static void pack_worker_help(struct pack_worker *w) {
        if (worker_may_encode(w)) {
                worker_encode_first(w);
                /* the end of the slice may be next */
                pthread_cond_signal(&w->has_work);
        } else {
                w->n_awaited = 0;
                pthread_cond_wait(&w->has_done, &w->lock);
        }
}

void pack_worker_wait(struct pack_worker *w) {
        pthread_mutex_lock(&w->lock);
        while (w->job)
                pack_worker_help(w);
        pthread_mutex_unlock(&w->lock);
}

bool pack_worker_is_done(struct pack_worker *w) {
        bool is_done;

        pthread_mutex_lock(&w->lock);
        is_done = !w->job;
        pthread_mutex_unlock(&w->lock);
        return is_done;
}

void pack_worker_drain(struct pack_worker *w) {
        pthread_mutex_lock(&w->lock);
        while (w->n_queued)
                pack_worker_help(w);
        pthread_mutex_unlock(&w->lock);
}

struct pack_worker *pack_worker_free(struct pack_worker *w) {
        if (!w)
                return NULL;
        pthread_mutex_lock(&w->lock);
        w->is_ending = true;
        pthread_cond_signal(&w->has_work);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        return pack_worker_done(w);
}
