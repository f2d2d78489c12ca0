/* SPDX-License-Identifier: MIT */
#include "record/observer.h"

#include <assert.h>

#include "base/macros.h"

void observers_init(struct observers *o, const struct observer *table, size_t n,
                    uint64_t (*clock)(const void *ctx), void *ctx) {
        assert(n <= OBSERVERS_MAX);
        *o = (struct observers){.table = table, .n = n, .clock = clock, .ctx = ctx};
        for (size_t i = 0; i < n; i++)
                o->due_ns[i] = table[i].first_ns;
}

static uint64_t observer_due_ns(const struct observers *o, size_t idx) {
        const struct observer *x = &o->table[idx];

        if (o->is_off[idx])
                return OBSERVER_NEVER;
        return MAX(x->due ? x->due(o->ctx) : o->due_ns[idx], o->not_before_ns[idx]);
}

/* Returns when it ended. */
static uint64_t observer_run_one(struct observers *o, size_t idx, uint64_t due_ns,
                                 uint64_t now_ns) {
        const struct observer *x = &o->table[idx];
        struct observer_cost *cost = &o->cost[idx];
        uint64_t next_ns, end_ns, took_ns;

        o->due_ns[idx] = OBSERVER_NEVER; /* what others wish for meanwhile counts */
        next_ns = x->observe(o->ctx, now_ns);
        if (x->period_ns)
                next_ns =
                        now_ns + x->period_ns; /* not due_ns: what was missed is not made up for */
        o->due_ns[idx] = MIN(o->due_ns[idx], next_ns);
        end_ns = MAX(o->clock(o->ctx), now_ns);
        took_ns = end_ns - now_ns;
        if (x->share > 1)
                o->not_before_ns[idx] = end_ns + took_ns * (x->share - 1);
        cost->n_rounds++;
        cost->took_ns += took_ns;
        cost->longest_ns = MAX(cost->longest_ns, took_ns);
        if (due_ns != OBSERVER_NEXT_ROUND)
                cost->latest_ns = MAX(cost->latest_ns, now_ns - due_ns);
        return end_ns;
}

void observers_run(struct observers *o) {
        uint64_t now_ns = o->clock(o->ctx);

        for (size_t i = 0; i < o->n; i++) {
                uint64_t due_ns = observer_due_ns(o, i);

                if (now_ns >= due_ns)
                        now_ns = observer_run_one(o, i, due_ns, now_ns);
        }
}

uint64_t observers_next_ns(const struct observers *o) {
        uint64_t next_ns = OBSERVER_NEVER;

        for (size_t i = 0; i < o->n; i++) {
                uint64_t due_ns = observer_due_ns(o, i);

                if (due_ns != OBSERVER_NEXT_ROUND && due_ns < OBSERVER_NEVER - o->table[i].slack_ns)
                        next_ns = MIN(next_ns, due_ns + o->table[i].slack_ns);
        }
        return next_ns;
}

void observers_wake(struct observers *o, size_t idx, uint64_t at_ns) {
        o->due_ns[idx] = MIN(o->due_ns[idx], at_ns);
}

void observers_switch(struct observers *o, size_t idx, bool on) {
        o->is_off[idx] = !on;
}
