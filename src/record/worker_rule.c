/* SPDX-License-Identifier: MIT */
/* A worker pays while one thread cannot keep up and part of a core would be idle: else it only takes turns with the recorder, or with the
 * target. While there is one, neither shows as it did before: two threads may keep up and sleep, so what counts is what both did; and what
 * was idle the worker has, or the target, which waits less. Whether others came who need it shows without the worker alone: one that leaves
 * nothing idle is ended after a while, and begun again where an interval without it has something. */
#include "record/worker_rule.h"

enum {
        WORKER_SLEPT_SHARE = 8, /* asleep for one part in so many: not behind */
        WORKER_IDLE_SHARE = 4,  /* of a core, to begin with one: half of what it takes */
        WORKER_LEFT_SHARE = 20, /* of a core: nothing is idle */
        WORKER_MAX_TIGHT = 8,   /* intervals with nothing idle */
};

bool worker_rule_is_behind(const struct worker_rule *x, const struct worker_figures *f) {
        if (f->slept_ns < f->took_ns / WORKER_SLEPT_SHARE)
                return true;
        return x->is_on && f->cpu_ns > f->took_ns - f->took_ns / WORKER_SLEPT_SHARE;
}

void worker_rule_judge(struct worker_rule *x, const struct worker_figures *f) {
        bool is_tight = f->idle_ns <= f->took_ns / WORKER_LEFT_SHARE;

        x->n_tight = x->is_on && is_tight ? x->n_tight + 1 : 0;
        if (!f->has_cores || !f->has_idle || !worker_rule_is_behind(x, f))
                x->is_on = false;
        else if (x->is_on)
                x->is_on = x->n_tight < WORKER_MAX_TIGHT;
        else
                x->is_on = f->idle_ns > f->took_ns / WORKER_IDLE_SHARE;
}
