/* SPDX-License-Identifier: MIT */
#include "live/background_request.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_clock.h"
#include "record/snapshot_client.h"

enum state { AT_WORK, READY, DROPPED };

struct background_request {
        enum background_kind kind;
        char *who;
        uint64_t begin_ms;
        /* Exchanged by both, acq_rel: whoever comes second, the thread with READY or the owner with DROPPED, has all of it. */
        _Atomic int state;
        int result;
        struct snapshot_answer answer;
        struct err err;
};

static struct background_request *end(struct background_request *b) {
        free(b->who);
        free(b);
        return NULL;
}

static void *work(void *ctx) {
        struct background_request *b = ctx;

        b->result = snapshot_client_take(b->who, NULL, b->kind == BACKGROUND_GRAPH, &b->answer,
                                         &b->err);
        if (atomic_exchange_explicit(&b->state, READY, memory_order_acq_rel) == DROPPED)
                end(b);
        return NULL;
}

static void start_thread(struct background_request *b) {
        pthread_attr_t attributes;
        sigset_t all, before;
        pthread_t thread;

        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all); /* signals are for the thread that waits for them */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&thread, &attributes, work, b) != 0) {
                b->result = err_set(&b->err, -EAGAIN, "there is no thread to ask the recorder");
                atomic_store_explicit(&b->state, READY, memory_order_relaxed); /* no other thread */
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
}

struct background_request *background_request_start(enum background_kind kind, const char *path,
                                                    uint32_t pid) {
        struct background_request *b = calloc(1, sizeof(*b));
        char number[16];

        if (!b)
                abort();
        snprintf(number, sizeof(number), "%u", pid);
        b->kind = kind;
        b->who = strdup(pid ? number : path);
        if (!b->who)
                abort();
        b->begin_ms = clock_now_ms();
        start_thread(b);
        return b;
}

int background_request_take(struct background_request *b, struct background_answer *ret,
                            struct err *reterr) {
        int r;

        if (atomic_load_explicit(&b->state, memory_order_acquire) !=
            READY) /* of the thread's end */
                return 0;
        r = b->result;
        if (r < 0)
                err_set(reterr, r, "%s", b->err.text);
        snprintf(ret->name, sizeof(ret->name), "%s", b->answer.name);
        ret->pause_ns = b->answer.pause_ns;
        end(b);
        return r < 0 ? r : 1;
}

struct background_request *background_request_drop(struct background_request *b) {
        if (b && atomic_exchange_explicit(&b->state, DROPPED, memory_order_acq_rel) == READY)
                end(b);
        return NULL;
}

uint64_t background_request_begin_ms(const struct background_request *b) {
        return b->begin_ms;
}
