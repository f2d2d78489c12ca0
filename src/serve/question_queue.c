/* SPDX-License-Identifier: MIT */
#include "serve/question_queue.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system_clock.h"

enum {
        LOOK_NS = 5000000, /* between two looks whether the client is still there */
        ARENAS = 2,        /* of the C library: what one seat frees another takes */
};

struct questions {
        const struct responder *responder;
        pthread_mutex_t lock;
        pthread_cond_t changed; /* a question came, a seat became free, pause, stop */
        pthread_t threads[RESPONDER_SEATS];
        size_t n_threads;
        struct question *first, **last; /* those that wait */
        unsigned n_waiting;
        struct question *seats[RESPONDER_SEATS];
        unsigned n_answering;
        bool is_paused;
        atomic_bool is_stopping; /* also looked at in the middle of an answer */
        uint64_t n_answered, n_cancelled, n_late;
};

struct seat {
        struct questions *qs;
        size_t idx;
};

bool questions_is_gone(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLRDHUP};

        return fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* ---- answering --------------------------------------------------------------------------------- */

static bool question_goes_on(void *ctx, uint64_t done, uint64_t total) {
        struct question *q = ctx;
        uint64_t now = clock_now_ns();

        atomic_store_explicit(&q->done, done, memory_order_relaxed);
        atomic_store_explicit(&q->total, total, memory_order_relaxed);
        if (atomic_load_explicit(&q->among->is_stopping, memory_order_relaxed))
                return false;
        if (now - q->looked_ns < LOOK_NS)
                return true;
        q->looked_ns = now;
        return !questions_is_gone(q->fd);
}

/* One that is larger than what is left of the room is not told before the answer is. */
static void question_part(void *ctx, const char *json) {
        struct question *q = ctx;

        pthread_mutex_lock(&q->among->lock);
        if (q->parts.n + 1 + strlen(json) <= QUESTIONS_MAX_PARTS_BYTES) {
                if (q->parts.n)
                        str_add(&q->parts, ",");
                str_add(&q->parts, json);
        }
        pthread_mutex_unlock(&q->among->lock);
}

static void question_answer(struct questions *qs, size_t seat, struct question *q) {
        struct responder_question asked = {.name = q->name,
                                           .keys = q->keys,
                                           .deadline_ns = q->deadline_ns,
                                           .progress = question_goes_on,
                                           .part = question_part,
                                           .ctx = q};

        if (clock_now_ns() > q->deadline_ns)
                q->result = err_set(&q->err, -ETIME, "the question waited for too long: ask again");
        else if (questions_is_gone(q->fd))
                q->result = err_set(&q->err, -ECANCELED, "the client has gone");
        else
                q->result =
                        qs->responder->answer(qs->responder->ctx, seat, &asked, &q->text, &q->err);
        q->version = qs->responder->version(qs->responder->ctx);
}

/* With the lock held, here and below. The place of the first one that a seat takes; of NULL where there is none. */
static struct question **find_next(struct questions *qs, size_t seat) {
        struct question **at = &qs->first;

        while (*at && seat == RESPONDER_SEATS - 1 && !(*at)->is_quick)
                at = &(*at)->next;
        return at;
}

/* The first of those that are free: each has tables of its own, and makes them when it is first asked. */
static bool is_first_free(const struct questions *qs, size_t seat) {
        for (size_t i = 0; i < seat; i++)
                if (!qs->seats[i])
                        return false;
        return true;
}

/* NULL: stop. */
static struct question *take_next(struct questions *qs, size_t seat) {
        struct question **at, *q;

        while (!qs->is_stopping &&
               (qs->is_paused || !*find_next(qs, seat) || !is_first_free(qs, seat)))
                pthread_cond_wait(&qs->changed, &qs->lock);
        at = find_next(qs, seat);
        q = *at;
        if (qs->is_stopping || !q)
                return NULL;
        *at = q->next;
        if (!*at)
                qs->last = at;
        qs->n_waiting--;
        return q;
}

static void count(struct questions *qs, const struct question *q) {
        qs->n_answered += q->result != -ECANCELED && q->result != -ETIME;
        qs->n_cancelled += q->result == -ECANCELED;
        qs->n_late += q->result == -ETIME;
}

static void *seat_main(void *ctx) {
        struct seat seat = *(struct seat *)ctx;
        struct questions *qs = seat.qs;
        struct question *q;
        bool is_idle;

        free(ctx);
        pthread_mutex_lock(&qs->lock);
        while ((q = take_next(qs, seat.idx))) {
                qs->seats[seat.idx] = q;
                qs->n_answering++;
                if (qs->first) /* it is the next seat's turn */
                        pthread_cond_broadcast(&qs->changed);
                pthread_mutex_unlock(&qs->lock);
                question_answer(qs, seat.idx, q);
                pthread_mutex_lock(&qs->lock);
                count(qs, q);
                qs->seats[seat.idx] = NULL;
                str_done(&q->parts);
                qs->n_answering--;
                is_idle = qs->n_answering == 0 && !qs->first;
                pthread_cond_broadcast(&qs->changed);
                pthread_mutex_unlock(&qs->lock);
                q->ready(q); /* it may be gone behind this */
                if (is_idle)
                        malloc_trim(0); /* answers take much for a moment */
                pthread_mutex_lock(&qs->lock);
        }
        pthread_mutex_unlock(&qs->lock);
        return NULL;
}

/* ---- asking ------------------------------------------------------------------------------------ */

/* Takes those out whose client has gone. */
static struct question *take_gone(struct questions *qs) {
        struct question *gone = NULL, **at = &qs->first;

        while (*at) {
                struct question *q = *at;

                if (!questions_is_gone(q->fd)) {
                        at = &q->next;
                        continue;
                }
                *at = q->next;
                qs->n_waiting--;
                q->next = gone;
                gone = q;
        }
        qs->last = at;
        return gone;
}

static void cancel_all(struct questions *qs, struct question *list) {
        for (struct question *q = list, *next; q; q = next) {
                next = q->next;
                q->result = err_set(&q->err, -ECANCELED, "stopped");
                pthread_mutex_lock(&qs->lock);
                qs->n_cancelled++;
                pthread_mutex_unlock(&qs->lock);
                q->ready(q);
        }
}

/* Those that wait for a thread to wake up and take them do not count as waiting. */
static bool is_full(const struct questions *qs, bool is_quick) {
        return qs->n_waiting + qs->n_answering >=
               QUESTIONS_MAX_WAITING + RESPONDER_SEATS - (is_quick ? 0u : 1u);
}

int questions_ask(struct questions *qs, struct question *q) {
        struct question *gone = NULL;
        int r = 0;

        q->among = qs;
        q->next = NULL;
        q->is_quick = qs->responder->is_quick(qs->responder->ctx, q->name, q->keys);
        q->deadline_ns = clock_now_ns() + QUESTIONS_TIME_S * 1000000000ull;
        pthread_mutex_lock(&qs->lock);
        if (is_full(qs, q->is_quick))
                gone = take_gone(qs);
        if (qs->is_stopping)
                r = -ESHUTDOWN;
        else if (is_full(qs, q->is_quick))
                r = -EBUSY;
        if (r == 0) {
                *qs->last = q;
                qs->last = &q->next;
                qs->n_waiting++;
                pthread_cond_broadcast(&qs->changed);
        }
        pthread_mutex_unlock(&qs->lock);
        cancel_all(qs, gone);
        return r;
}

bool questions_pause(struct questions *qs, uint64_t patience_ns) {
        uint64_t until = clock_now_ns() + patience_ns;
        struct timespec t = {.tv_sec = (time_t)(until / 1000000000),
                             .tv_nsec = (long)(until % 1000000000)};
        int r = 0;

        pthread_mutex_lock(&qs->lock);
        qs->is_paused = true;
        while (qs->n_answering > 0 && r == 0)
                r = pthread_cond_timedwait(&qs->changed, &qs->lock, &t);
        if (qs->n_answering > 0) {
                qs->is_paused = false;
                pthread_cond_broadcast(&qs->changed);
        }
        r = qs->is_paused;
        pthread_mutex_unlock(&qs->lock);
        return r;
}

void questions_resume(struct questions *qs) {
        pthread_mutex_lock(&qs->lock);
        qs->is_paused = false;
        pthread_cond_broadcast(&qs->changed);
        pthread_mutex_unlock(&qs->lock);
}

static const struct question *find(const struct questions *qs, const char *id, bool *ret_waits) {
        for (size_t i = 0; i < RESPONDER_SEATS; i++)
                if (qs->seats[i] && strcmp(qs->seats[i]->id, id) == 0) {
                        *ret_waits = false;
                        return qs->seats[i];
                }
        for (const struct question *q = qs->first; q; q = q->next)
                if (strcmp(q->id, id) == 0) {
                        *ret_waits = true;
                        return q;
                }
        return NULL;
}

struct questions_progress questions_progress(struct questions *qs, const char *id) {
        struct questions_progress p = {.state = QUESTION_UNKNOWN};
        const struct question *q;
        bool waits = false;

        pthread_mutex_lock(&qs->lock);
        q = *id ? find(qs, id, &waits) : NULL;
        if (q) {
                p.state = waits ? QUESTION_WAITS : QUESTION_ANSWERED_NOW;
                p.done = atomic_load_explicit(&q->done, memory_order_relaxed);
                p.total = atomic_load_explicit(&q->total, memory_order_relaxed);
                str_addn(&p.parts, q->parts.bytes, q->parts.n);
        }
        p.n_waiting = qs->n_waiting;
        p.n_answering = qs->n_answering;
        p.n_answered = qs->n_answered;
        p.n_cancelled = qs->n_cancelled;
        p.n_late = qs->n_late;
        pthread_mutex_unlock(&qs->lock);
        return p;
}

/* ---- beginning and end ------------------------------------------------------------------------- */

struct questions *questions_new(const struct responder *responder, struct err *reterr) {
        struct questions *qs = calloc(1, sizeof(*qs));
        pthread_condattr_t monotonic;

        if (!qs)
                abort();
        mallopt(M_ARENA_MAX, ARENAS);
        qs->responder = responder;
        qs->last = &qs->first;
        pthread_mutex_init(&qs->lock, NULL);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&qs->changed, &monotonic);
        pthread_condattr_destroy(&monotonic);
        for (size_t i = 0; i < RESPONDER_SEATS; i++) {
                struct seat *seat = malloc(sizeof(*seat));
                int r;

                if (!seat)
                        abort();
                *seat = (struct seat){.qs = qs, .idx = i};
                r = pthread_create(&qs->threads[i], NULL, seat_main, seat);
                if (r) {
                        free(seat);
                        err_set_errno(reterr, -r, "cannot start a thread (see ulimit -u)");
                        questions_stop(qs);
                        return questions_free(qs);
                }
                qs->n_threads++;
        }
        return qs;
}

void questions_stop(struct questions *qs) {
        struct question *left;

        pthread_mutex_lock(&qs->lock);
        qs->is_stopping = true;
        left = qs->first;
        qs->first = NULL;
        qs->last = &qs->first;
        qs->n_waiting = 0;
        pthread_cond_broadcast(&qs->changed);
        pthread_mutex_unlock(&qs->lock);
        cancel_all(qs, left);
        while (qs->n_threads > 0)
                pthread_join(qs->threads[--qs->n_threads], NULL);
}

struct questions *questions_free(struct questions *qs) {
        if (!qs)
                return NULL;
        pthread_cond_destroy(&qs->changed);
        pthread_mutex_destroy(&qs->lock);
        free(qs);
        return NULL;
}
