/* SPDX-License-Identifier: MIT */
#include "import/import_totals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/macros.h"

void import_totals_done(struct import_totals *t) {
        map_done(&t->total_of);
        vec_free(&t->states);
        vec_free(&t->put);
}

static struct total_state *state_of(struct import_totals *t, uint32_t stack) {
        bool is_new;
        uint64_t *idx = map_put(&t->total_of, stack, t->states.n, &is_new);
        struct total_state *s;

        if (is_new)
                vec_push(&t->states, (struct total_state){.stack = stack});
        s = &t->states.items[*idx];
        if (!s->is_named)
                s->next = (struct import_total){0};
        s->is_named = true;
        return s;
}

static bool add(uint64_t *to, uint64_t n) {
        return !__builtin_add_overflow(*to, n, to);
}

int import_totals_add(struct import_totals *t, uint32_t stack, const struct import_total *total) {
        struct total_state *s = state_of(t, stack);

        return add(&s->next.n_allocs, total->n_allocs) &&
                               add(&s->next.alloc_bytes, total->alloc_bytes) &&
                               add(&s->next.n_frees, total->n_frees) &&
                               add(&s->next.free_bytes, total->free_bytes)
                       ? 0
                       : -ERANGE;
}

int import_totals_add_live(struct import_totals *t, uint32_t stack, uint64_t n_blocks,
                           uint64_t live_bytes) {
        struct total_state *s = state_of(t, stack);

        t->uses_live = true;
        return add(&s->next.n_allocs, n_blocks) && add(&s->next.alloc_bytes, live_bytes) ? 0
                                                                                         : -ERANGE;
}

/* The least that makes what was live what is live. Bytes that come take a block that comes, and so do those that go. */
static void explain_live(struct total_state *s) {
        const struct import_total *was = &s->sum;
        uint64_t old_blocks = was->n_allocs - was->n_frees,
                 old_bytes = was->alloc_bytes - was->free_bytes;
        uint64_t blocks = s->is_named ? s->next.n_allocs : 0,
                 bytes = s->is_named ? s->next.alloc_bytes : 0;
        struct import_total d = {.n_allocs = blocks > old_blocks ? blocks - old_blocks : 0,
                                 .alloc_bytes = bytes > old_bytes ? bytes - old_bytes : 0,
                                 .n_frees = old_blocks > blocks ? old_blocks - blocks : 0,
                                 .free_bytes = old_bytes > bytes ? old_bytes - bytes : 0};

        if ((d.alloc_bytes && !d.n_allocs) || (d.free_bytes && !d.n_frees))
                d.n_allocs++, d.n_frees++;
        s->next =
                (struct import_total){was->n_allocs + d.n_allocs, was->alloc_bytes + d.alloc_bytes,
                                      was->n_frees + d.n_frees, was->free_bytes + d.free_bytes};
        s->is_named = true;
}

/* What was freed, and with it what was allocated, is at least what it was. False: it was allocated and freed less by more than slack. */
static bool raise(uint64_t *allocated, uint64_t *freed, uint64_t was_allocated, uint64_t was_freed,
                  uint64_t slack, uint64_t *n_raised) {
        uint64_t live = *allocated - *freed, least = was_freed;

        if (was_allocated > live)
                least = MAX(least, was_allocated - live);
        if (*freed >= least)
                return true;
        *n_raised += least - *freed > 1;
        if (least - *freed > slack || least > UINT64_MAX - live)
                return false;
        *freed = least;
        *allocated = least + live;
        return true;
}

/* Blocks and bytes come together. */
static bool pair(struct total_state *s) {
        if ((s->next.alloc_bytes == s->sum.alloc_bytes || s->next.n_allocs > s->sum.n_allocs) &&
            (s->next.free_bytes == s->sum.free_bytes || s->next.n_frees > s->sum.n_frees))
                return false;
        s->next.n_allocs++, s->next.n_frees++;
        return true;
}

static bool make_rise(struct import_totals *t, struct total_state *s) {
        bool is_estimate = t->sample_bytes > 1;
        uint64_t slack = is_estimate ? UINT64_MAX : 1; /* of an exact sum, that was rounded */

        if (s->next.n_frees > s->next.n_allocs || s->next.free_bytes > s->next.alloc_bytes)
                return false;
        if (!raise(&s->next.n_allocs, &s->next.n_frees, s->sum.n_allocs, s->sum.n_frees, slack,
                   &t->n_raised) ||
            !raise(&s->next.alloc_bytes, &s->next.free_bytes, s->sum.alloc_bytes, s->sum.free_bytes,
                   slack, &t->n_raised))
                return false;
        t->n_paired += is_estimate && pair(s);
        return true;
}

/* Of one program what was ever allocated does not fall, all in all, by more than its estimate may err: n samples that stand for d
 * bytes each have a standard error of d * sqrt(n). */
static bool falls(struct import_totals *t) {
        double sum = 0, before = t->alloc_bytes;

        for (size_t i = 0; i < t->states.n; i++)
                sum += (double)t->states.items[i].next.alloc_bytes;
        t->alloc_bytes = sum;
        return before - sum > 5 * sqrt(before * (double)t->sample_bytes) + (double)t->states.n;
}

bool import_totals_make(struct import_totals *t, uint32_t process) {
        vec_clear(&t->put);
        if (!t->uses_live && falls(t))
                return false;
        for (size_t i = 0; i < t->states.n; i++) {
                struct total_state *s = &t->states.items[i];

                if (t->uses_live)
                        explain_live(s);
                if (!s->is_named)
                        continue;
                if (!t->uses_live && !make_rise(t, s))
                        return false;
                vec_push(&t->put, (struct trace_maker_total){process, s->stack, s->next.n_allocs,
                                                             s->next.alloc_bytes, s->next.n_frees,
                                                             s->next.free_bytes});
                s->sum = s->next;
                s->is_named = false;
        }
        return true;
}
