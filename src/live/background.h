/* SPDX-License-Identifier: MIT */
/* Work in a thread of its own, for an owner who never waits for it: he looks whether it is done, or drops it. Inside live/ only. */
#pragma once

#include <stdbool.h>

/* The first member of what the work is about. */
struct background {
        void (*work)(void *owner); /* in the thread */
        void (*end)(void *owner);  /* frees all of it; once, by whoever comes last */
        /* Exchanged by both, acq_rel: whoever comes second, the thread with READY or the owner with DROPPED, has all of it. */
        _Atomic int state;
};

/* Both functions are set. False: there is no thread; it is ready, and nothing was done. */
bool background_start(struct background *b);
/* True: the thread is done, and all it wrote is seen: the owner has it, and ends it. */
bool background_is_ready(const struct background *b);
/* Nobody wants what it makes any more: it ends now, or when the work is done. NULL ok. */
void background_drop(struct background *b);
