/* SPDX-License-Identifier: MIT */
#include "tick/tick_waits.h"

#include <stdlib.h>
#include <string.h>

/* Of a long wait. Shorter parts would fill the trace of a program that does nothing. */
enum { PART_NS = 250000000, PART_SHARE = 8 };
/* Longer than what the kernel leaves out of a thread that waits often. */
enum { LONG_NS = 8000000 };
/* Waits that are shorter are all of one length. */
enum { SHORT_BITS = 13 };

void tick_wait_place(struct tick_thread *t, const struct ticker_path *path) {
        struct tick_wait *w = &t->wait;
        size_t n = path->n_kernel + path->n_pcs;

        if (n > w->cap)
                w->pcs = vec_grow(w->pcs, &w->cap, n, sizeof(*w->pcs));
        if (path->n_kernel)
                memcpy(w->pcs, path->kernel_pcs, path->n_kernel * sizeof(*w->pcs));
        if (path->n_pcs)
                memcpy(w->pcs + path->n_kernel, path->pcs, path->n_pcs * sizeof(*w->pcs));
        w->n_kernel = path->n_kernel;
        w->n_pcs = path->n_pcs;
        w->end = path->end;
        w->has_path = true;
}

void tick_wait_begin(struct tick_thread *t, uint64_t time_ns, bool is_preempted) {
        t->wait.since_ns = t->wait.told_ns = time_ns;
        t->wait.is_preempted = is_preempted;
        t->wait.is_looked = false;
}

static void fill(const struct tick_thread *t, enum ticker_state state, uint64_t time_ns,
                 struct ticker_tick *ret) {
        const struct tick_wait *w = &t->wait;

        *ret = (struct ticker_tick){.process = t->process->tag,
                                    .thread = t->tag,
                                    .state = state,
                                    .time_ns = time_ns,
                                    .path = {.kernel_pcs = w->pcs,
                                             .n_kernel = w->n_kernel,
                                             .pcs = w->pcs + w->n_kernel,
                                             .n_pcs = w->n_pcs,
                                             .end = w->end},
                                    .space = t->process->space};
}

static void fill_pathless(const struct tick_thread *t, enum ticker_state state, uint64_t time_ns,
                          struct ticker_tick *ret) {
        fill(t, state, time_ns, ret);
        ret->path = (struct ticker_path){.end = REMOTE_LOST};
}

/* Within twice the length waits are taken for alike: a lock that is held for 5 ms is not the pipe that is read every 20 us. */
static struct tick_bare *bare_of(struct tick_wait *w, enum ticker_state state, uint64_t ns) {
        unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;

        return &w->bare[state][bits > SHORT_BITS ? MIN(bits - SHORT_BITS, TICK_N_LENGTHS - 1u) : 0];
}

bool tick_wait_take_bare(struct tick_thread *t, uint64_t before_ns, uint64_t time_ns,
                         struct ticker_tick *ret) {
        for (int state = 0; state < TICKER_N_STATES; state++)
                for (int i = 0; i < TICK_N_LENGTHS; i++) {
                        struct tick_bare *b = &t->wait.bare[state][i];

                        if (!b->ns || b->since_ns >= before_ns)
                                continue;
                        fill_pathless(t, (enum ticker_state)state, time_ns, ret);
                        ret->weight_ns = b->ns;
                        ret->n_samples = b->n;
                        *b = (struct tick_bare){0};
                        return true;
                }
        return false;
}

bool tick_wait_take(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret) {
        struct tick_wait *w = &t->wait;
        enum ticker_state state = w->is_preempted ? TICKER_READY : TICKER_BLOCKED;
        bool is_first = w->told_ns == w->since_ns;
        struct tick_bare *bare;
        uint64_t ns;

        if (!w->since_ns || time_ns <= w->told_ns)
                return false;
        ns = time_ns - w->told_ns;
        w->told_ns = time_ns;
        bare = bare_of(w, state, time_ns - w->since_ns);
        if (!w->has_path && time_ns - w->since_ns < LONG_NS) {
                if (!bare->ns)
                        bare->since_ns = time_ns;
                bare->ns += ns;
                bare->n += is_first;
                return false;
        }
        if (!w->has_path) {
                fill_pathless(t, state, time_ns, ret);
                ret->weight_ns = ns;
                ret->n_samples = is_first;
                return true;
        }
        fill(t, state, time_ns, ret);
        ret->weight_ns = ns;
        ret->n_samples = is_first; /* its other parts are the same wait */
        if (time_ns - w->since_ns < LONG_NS) {
                ret->borrowed_ns = bare->ns;
                ret->weight_ns += bare->ns;
                ret->n_samples += bare->n;
                *bare = (struct tick_bare){0};
        }
        return true;
}

bool tick_wait_end(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret) {
        bool is_told = tick_wait_take(t, time_ns, ret);

        t->wait.since_ns = 0;
        t->wait.has_path = false;
        return is_told;
}

bool tick_wait_wants_look(const struct tick_thread *t, uint64_t time_ns) {
        const struct tick_wait *w = &t->wait;

        return w->since_ns && (!w->has_path || w->end == REMOTE_CUT) && !w->is_preempted &&
               !w->is_looked && time_ns > w->since_ns && time_ns - w->since_ns >= LONG_NS;
}

uint64_t tick_wait_due_ns(const struct tick_thread *t) {
        const struct tick_wait *w = &t->wait;

        if (!w->since_ns)
                return UINT64_MAX;
        return w->told_ns + MAX((uint64_t)PART_NS, (w->told_ns - w->since_ns) / PART_SHARE);
}
