/* SPDX-License-Identifier: MIT */
/* Every single block of a scope, from its allocation to its release: one pass over the events with
 * a table of the blocks alive, so memory follows how many live at once, not how many there were.
 * For questions that per-site history cannot answer: by size, thread, lifetime. Inside query/ only.
 *
 *   static bool add(void *ctx, const struct query_life *l) {
 *           if (life_is_allocated_in(l, scope)) …            // count it among the allocations
 *           if (life_is_released_in(l, scope)) …             // and among the releases
 *           if (l->is_live_at_peak) …                        // part of the peak
 *           return true;
 *   }
 *   life_scan(q, &scope, 0, add, ctx, &is_exact, &err);
 *
 * Which blocks: those the scope's process held at some moment of the window (allocated, released or
 * merely kept in it), that the scope's filter selects. Each is told once: when it is released,
 * and at the end of the pass those that were not; so the order is that of releases.
 *
 * Forks. One process: a block it inherited is a block of its own here, alive from the fork on
 * (begin_ns and thread are those of the allocation, in an ancestor), is_inherited set: it counts in live figures and
 * releases, never among the allocations. All processes (QUERY_ALL): a block is told for the process that allocated it.
 * A child's release of its copy is told as well, is_inherited set: a release and nothing else,
 * all is_live_at_* are false.
 *
 * Traces whose old events were dropped (--max-size), or are damaged: blocks whose allocation is
 * not there are left out, and the pass is not exact. */
#pragma once

#include "query/query.h"

struct query_life {
        uint32_t process; /* that holds it: allocated or inherited it */
        uint32_t stack, thread;
        uint32_t free_thread; /* TRACE_NO_THREAD: not released, or not seen to be */
        uint32_t
                n_blocks; /* that it stands for, all of this size: 1, unless the recording is of samples */
        uint64_t size_bytes, seq;
        uint64_t begin_ns;
        uint64_t end_ns;  /* release; UINT64_MAX: none (without LIFE_TO_END: none in the window) */
        uint64_t last_ns; /* end_ns, or where that is none the end of its process or recording */
        bool is_temporary, by_realloc, is_inherited;
        bool is_implicit_free; /* the release was made up: nobody saw it */
        bool is_live_at_from, is_live_at_peak, is_live_at_to;
};

static inline uint64_t life_bytes(const struct query_life *l) {
        return l->size_bytes * l->n_blocks;
}

/* Allocated and released in the window. */
static inline bool life_is_allocated_in(const struct query_life *l, const struct query_scope *s) {
        return !l->is_inherited && l->begin_ns >= s->from_ns && l->begin_ns < s->to_ns;
}

static inline bool life_is_released_in(const struct query_life *l, const struct query_scope *s) {
        return l->end_ns != UINT64_MAX && l->end_ns >= s->from_ns && l->end_ns < s->to_ns;
}

/* Adds what the block contributes to the variance of each metric: a sample that stands for n blocks of s bytes was one of
 * about n, and n (n - 1) s^2 is right in the mean (docs/sampling.md). */
void life_add_var(double *var, const struct query_life *l, const struct query_scope *s);

enum life_flags {
        LIFE_TO_END = 1u << 0, /* also find the releases behind the window's end */
        LIFE_NO_PEAK =
                1u
                << 1, /* is_live_at_peak is not needed (it stays false): spares looking for the moment */
};

/* The pass ends early when fn returns false. *ret_is_exact (NULL ok): no event that was needed is missing. */
typedef bool (*life_fn)(void *ctx, const struct query_life *l);
int life_scan(struct query *q, const struct query_scope *scope, unsigned flags, life_fn fn,
              void *ctx, bool *ret_is_exact, struct err *reterr);

/* The same for a caller that knows the scope's peak already (NULL: is not needed). */
struct peak;
int life_scan_peak(struct query *q, const struct query_scope *scope, unsigned flags,
                   const struct peak *peak, life_fn fn, void *ctx, bool *ret_is_exact,
                   struct err *reterr);

/* And finds what was alive at the peak by halves of the samples (NULL: is not wanted). Without a filter. */
struct fair_peak;
int life_scan_fair_peak(struct query *q, const struct query_scope *scope, unsigned flags,
                        const struct peak *peak, struct fair_peak *halves, life_fn fn, void *ctx,
                        bool *ret_is_exact, struct err *reterr);
