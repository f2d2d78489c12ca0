/* SPDX-License-Identifier: MIT */
/* Releases of blocks that are older than the recording of a process that was attached to. Part of pairing.c. */
#pragma once

#include "pipeline/pairing.h"

/* What a counter that is read early is ahead by, and more: a release that is farther from the allocation behind it does not belong
 * behind that. */
enum { PAIR_PRIOR_SKEW_NS = 1000 };

/* Whether a release that waits is that of an older block, whose address e hands out again only now. It is when the address goes to
 * the thread that released it, when the size it gave is not the one asked for now, or when it came long before. Taken for an inversion
 * it would release the new block, and its size would be held against the program. */
static inline bool pair_is_prior(const struct pair_event *h, const struct pair_event *e) {
        struct block b;

        if (event_is_release(h) ? h->address != e->address
                                : h->kind != WIRE_REALLOC_END || h->old != PAIR_OLD_BLOCK ||
                                          h->old_address != e->address)
                return false;
        if (h->process != e->process || live_find(&e->process->live, e->address, &b))
                return false;
        return h->thread == e->thread || h->time_ns + PAIR_PRIOR_SKEW_NS < e->time_ns ||
               (event_is_release(h) && h->kind != WIRE_FREE && h->size_bytes != WIRE_NO_SIZE &&
                h->size_bytes != e->size_bytes);
}
