/* SPDX-License-Identifier: MIT */
#include "live/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

enum state { AT_WORK, READY, DROPPED };

static void *run(void *ctx) {
        struct background *b = ctx;

        b->work(b);
        if (atomic_exchange_explicit(&b->state, READY, memory_order_acq_rel) == DROPPED)
                b->end(b);
        return NULL;
}

bool background_start(struct background *b) {
        pthread_attr_t attributes;
        sigset_t all, before;
        pthread_t thread;
        bool is_there;

        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all); /* signals are for the thread that waits for them */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        is_there = pthread_create(&thread, &attributes, run, b) == 0;
        if (!is_there)
                atomic_store_explicit(&b->state, READY, memory_order_relaxed); /* no other thread */
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return is_there;
}

bool background_is_ready(const struct background *b) {
        return atomic_load_explicit(&b->state, memory_order_acquire) ==
               READY; /* of the thread's end */
}

void background_drop(struct background *b) {
        if (b && atomic_exchange_explicit(&b->state, DROPPED, memory_order_acq_rel) == READY)
                b->end(b);
}
