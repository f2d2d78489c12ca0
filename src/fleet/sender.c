/* SPDX-License-Identifier: MIT */
#include "fleet/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/system_clock.h"
#include "fleet/destination.h"

enum {
        SENDER_FIRST_MS = 1000, /* the second attempt, at most; then twice that */
        SENDER_LONGEST_MS = 300000,
        SENDER_LOOK_MS = 5000,     /* others may have added something */
        SENDER_MAX_REFUSED = 3,    /* in a row: it does not take anything */
        SENDER_MAX_SITES = 200000, /* of one insert */
};

struct sender {
        struct sender_options o;
        struct server_url url;
        struct destination to;
        pthread_t thread;
        pthread_mutex_t lock; /* for what follows */
        pthread_cond_t changed;
        bool is_woken, is_ending;
        uint64_t deadline_ns; /* once it is ending */
        struct sender_state state;
        /* the thread's own */
        unsigned n_failures; /* in a row */
        bool has_said_away;
};

static void wait_until(struct sender *s, uint64_t ns) {
        struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};

        (void)pthread_cond_timedwait(&s->changed, &s->lock, &t);
}

static bool is_stopped(void *ctx) {
        struct sender *s = ctx;
        bool stopped;

        pthread_mutex_lock(&s->lock);
        stopped = s->is_ending && clock_now_ns() >= s->deadline_ns;
        pthread_mutex_unlock(&s->lock);
        return stopped;
}

/* ---- the thread ---------------------------------------------------------------------------------- */

/* Between half and all of it: a thousand senders that lost their server do not all come back at once. */
static uint64_t back_off_ns(const struct sender *s) {
        uint64_t ms = SENDER_FIRST_MS;
        uint32_t chance = 0;

        for (unsigned i = 1; i < s->n_failures && ms < SENDER_LONGEST_MS; i++)
                ms *= 2;
        ms = MIN(ms, (uint64_t)SENDER_LONGEST_MS);
        if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
                chance = (uint32_t)clock_now_ns();
        return ms * 500000 + ms * 500000 * chance / UINT32_MAX;
}

static void say(struct sender *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct sender *s, const char *fmt, ...) {
        char line[800];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(line, sizeof(line), fmt, ap);
        va_end(ap);
        if (s->o.say)
                s->o.say(s->o.ctx, line);
}

static void tell_failure(struct sender *s, const struct err *err) {
        struct spool_state spool = spool_state(s->o.spool);

        s->n_failures++;
        pthread_mutex_lock(&s->lock);
        s->state.is_away = true;
        snprintf(s->state.why, sizeof(s->state.why), "%s", err->text);
        pthread_mutex_unlock(&s->lock);
        if (!s->has_said_away)
                say(s, "%s: %zu batch%s kept in '%s' until it works", err->text, spool.n_files,
                    spool.n_files == 1 ? "" : "es", spool_path(s->o.spool));
        s->has_said_away = true;
}

static void tell_success(struct sender *s, size_t n_batches, uint64_t n_snapshots) {
        if (s->has_said_away)
                say(s, "%s takes batches again", s->url.shown);
        s->has_said_away = false;
        s->n_failures = 0;
        pthread_mutex_lock(&s->lock);
        s->state.is_away = false;
        s->state.n_sent += n_batches;
        s->state.n_snapshots += n_snapshots;
        pthread_mutex_unlock(&s->lock);
}

struct group {
        struct spool_file files[64];
        size_t n;
};

static int take_group(struct sender *s, const char *after, size_t max, struct group *g,
                      struct err *reterr) {
        int r = spool_take(s->o.spool, after, MIN(max, ARRAY_SIZE(g->files)), SENDER_MAX_SITES,
                           g->files, reterr);

        g->n = r > 0 ? (size_t)r : 0;
        return r;
}

static int send_group(struct sender *s, struct group *g, struct err *reterr) {
        struct fleet_batch *batches[ARRAY_SIZE(g->files)];
        uint64_t n_snapshots = 0;
        int r;

        for (size_t i = 0; i < g->n; i++) {
                batches[i] = g->files[i].batch;
                n_snapshots += batches[i]->snapshots.n;
        }
        r = s->to.send(&s->to, batches, g->n, reterr);
        if (r >= 0)
                tell_success(s, g->n, n_snapshots);
        if (s->to.note[0])
                say(s, "%s: %s", s->url.shown, s->to.note);
        s->to.note[0] = '\0';
        for (size_t i = 0; i < g->n; i++)
                if (r >= 0)
                        (void)spool_remove(s->o.spool, &g->files[i], NULL);
                else if (r == -EEXIST && g->n == 1)
                        spool_refuse(s->o.spool, &g->files[i]);
                else
                        spool_put_back(&g->files[i]);
        return r;
}

/* All that is there, until the server fails. What it refuses is tried for itself, and others after it: one bad batch does not keep
 * those behind it. 0: there is nothing more to send now. */
static int send_all(struct sender *s, struct err *reterr) {
        struct group *g = calloc(1, sizeof(*g));
        char after[96] = "";
        size_t max = s->to.max_batches;
        unsigned n_refused = 0;
        int r, result = 0;

        if (!g)
                abort();
        while ((r = is_stopped(s) ? -ECANCELED : take_group(s, after, max, g, reterr)) > 0) {
                char first[96];
                size_t n = g->n;

                memcpy(first, g->files[0].name, sizeof(first));
                r = send_group(s, g, reterr);
                if (r >= 0) {
                        max = s->to.max_batches;
                        n_refused = 0;
                        continue;
                }
                if (r != -EBADMSG && r != -EEXIST)
                        break;
                if (n > 1 || r == -EEXIST) {
                        max = 1;
                        continue;
                }
                result = r;
                memcpy(after, first, sizeof(after));
                if (++n_refused == SENDER_MAX_REFUSED)
                        break;
        }
        free(g);
        return r < 0 ? r : result;
}

static void *sender_run(void *arg) {
        struct sender *s = arg;

        pthread_mutex_lock(&s->lock);
        for (;;) {
                struct err err = {0};
                bool was_ending = s->is_ending; /* what was added before that is sent */
                uint64_t until;
                int r;

                s->is_woken = false;
                pthread_mutex_unlock(&s->lock);
                r = send_all(s, &err);
                if (r < 0 && r != -ECANCELED)
                        tell_failure(s, &err);
                pthread_mutex_lock(&s->lock);
                if (was_ending)
                        break;
                until = clock_now_ns() + (r < 0 ? back_off_ns(s) : SENDER_LOOK_MS * 1000000ull);
                /* what is new does not make an ill server well */
                while (!s->is_ending && clock_now_ns() < until && (r < 0 || !s->is_woken))
                        wait_until(s, until);
        }
        pthread_mutex_unlock(&s->lock);
        return NULL;
}

/* ---- from outside -------------------------------------------------------------------------------- */

static int open_destination(struct sender *s, struct err *reterr) {
        struct http_client_options o = {.ca_file = s->o.ca_file,
                                        .is_stopped = is_stopped,
                                        .ctx = s};

        switch (s->url.kind) {
        case SERVER_CLICKHOUSE: return clickhouse_open(&s->url, &o, &s->to, reterr);
        case SERVER_PYROSCOPE: return pyroscope_open(&s->url, &o, &s->to, reterr);
        case SERVER_OTLP: return otlp_open(&s->url, &o, &s->to, reterr);
        }
        return -EINVAL;
}

int sender_start(const struct sender_options *o, struct sender **ret, struct err *reterr) {
        struct sender *s = calloc(1, sizeof(*s));
        pthread_condattr_t attr;
        int r;

        if (!s)
                abort();
        s->o = *o;
        s->url = *o->url;
        pthread_mutex_init(&s->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&s->changed, &attr);
        pthread_condattr_destroy(&attr);
        r = open_destination(s, reterr);
        if (r >= 0) {
                r = -pthread_create(&s->thread, NULL, sender_run, s);
                if (r < 0)
                        err_set_errno(reterr, r, "cannot start a thread");
        }
        if (r < 0) {
                free(s);
                return r;
        }
        *ret = s;
        return 0;
}

void sender_wake(struct sender *s) {
        pthread_mutex_lock(&s->lock);
        s->is_woken = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
}

struct sender_state sender_end(struct sender *s, uint64_t timeout_ns) {
        struct sender_state state;

        pthread_mutex_lock(&s->lock);
        s->is_ending = true;
        s->deadline_ns = clock_now_ns() + timeout_ns;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        state = s->state;
        s->to.free(s->to.ctx);
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->lock);
        free(s);
        return state;
}
