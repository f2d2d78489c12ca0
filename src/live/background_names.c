/* SPDX-License-Identifier: MIT */
#include "live/background_names.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/system_clock.h"

enum state { AT_WORK, READY, DROPPED };

struct background_names {
        char *path;
        struct name_sources rules; /* its files are the caller's options, which stay */
        /* Exchanged by both, acq_rel: whoever comes second, the thread with READY or the owner with DROPPED, has all of it. */
        _Atomic int state;
        int result;
        uint64_t took_ns;
        struct opened trace;
        struct err err;
};

/* Looking names up keeps some things by process. */
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;

static struct background_names *end(struct background_names *b) {
        opened_done(&b->trace);
        free(b->path);
        free(b);
        return NULL;
}

static void *work(void *ctx) {
        struct background_names *b = ctx;
        uint64_t begin;

        pthread_mutex_lock(&at_work);
        begin = clock_now_ns();
        b->result = opened_init(&b->trace, b->path, &b->rules, &b->err);
        opened_end_progress(&b->trace);
        b->took_ns = clock_now_ns() - begin;
        pthread_mutex_unlock(&at_work);
        if (atomic_exchange_explicit(&b->state, READY, memory_order_acq_rel) == DROPPED)
                end(b);
        return NULL;
}

struct background_names *background_names_start(const char *path,
                                                const struct name_sources *rules) {
        struct background_names *b = calloc(1, sizeof(*b));
        pthread_attr_t attributes;
        sigset_t all, before;
        pthread_t thread;

        if (!b)
                abort();
        (void)str_width(
                "\u00e9"); /* the locale behind it is made here, not in a worker: its lock may be held while one is forked */
        b->path = strdup(path);
        if (!b->path)
                abort();
        b->rules = *rules;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all); /* signals are for the thread that waits for them */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&thread, &attributes, work, b) != 0) {
                b->result = -EAGAIN;
                atomic_store_explicit(&b->state, READY, memory_order_relaxed); /* no other thread */
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return b;
}

int background_names_take(struct background_names *b, struct opened *ret, uint64_t *ret_took_ns,
                          struct err *reterr) {
        int r;

        if (atomic_load_explicit(&b->state, memory_order_acquire) !=
            READY) /* of the thread's end */
                return 0;
        r = b->result;
        *ret_took_ns = b->took_ns;
        if (r < 0) {
                err_set(reterr, r, "%s", b->err.text);
        } else {
                *ret = b->trace; /* no bar points to it any more */
                b->trace = (struct opened){0};
        }
        end(b);
        return r < 0 ? r : 1;
}

struct background_names *background_names_drop(struct background_names *b) {
        if (b && atomic_exchange_explicit(&b->state, DROPPED, memory_order_acq_rel) == READY)
                end(b);
        return NULL;
}
