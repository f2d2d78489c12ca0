/* SPDX-License-Identifier: MIT */
#include "record/budget.h"

#include <stdbool.h>

#include "base/macros.h"

#define MS 1000000ull

enum {
        BUDGET_FIRST_NS = 100 * MS, /* it may begin far too dense: then it soon ends */
        BUDGET_EVERY_NS = 500 * MS,
        BUDGET_MIN_CPU_NS = 20 * MS, /* of the target: less tells nothing */
};

#define BUDGET_AIM 0.85  /* of the budget */
#define BUDGET_CALM 0.6  /* from here to 1.0 of the budget nothing changes */
#define BUDGET_STEP 4.0  /* at most so many times the distance, or half of it */
#define BUDGET_LEAST 0.1 /* of the budget is for samples, whatever counting takes */

/* A process that is gone takes its figures along: sums that shrink are no differences. */
static bool has_grown(const struct budget_figures *now, const struct budget_figures *last) {
        return now->target_ns >= last->target_ns + BUDGET_MIN_CPU_NS &&
               now->inside_ns >= last->inside_ns && now->counting_ns >= last->counting_ns &&
               now->beside_ns >= last->beside_ns;
}

uint64_t budget_step(struct budget *b, const struct budget_figures *now, uint64_t sample_bytes,
                     uint64_t now_ns) {
        double target, counting, samples, allowed, ratio;
        bool is_new = b->next_ns == 0;

        if (!is_new && !has_grown(now, &b->last)) {
                if (now->target_ns < b->last.target_ns || now->inside_ns < b->last.inside_ns)
                        b->last = *now;
                b->next_ns = now_ns + BUDGET_FIRST_NS;
                return sample_bytes;
        }
        b->next_ns = now_ns + (is_new ? BUDGET_FIRST_NS : BUDGET_EVERY_NS);
        target = (double)(now->target_ns - b->last.target_ns);
        counting = (double)(now->counting_ns - b->last.counting_ns) * 100 / MAX(target, 1.0);
        samples =
                (double)(now->inside_ns - b->last.inside_ns + now->beside_ns - b->last.beside_ns) *
                100 / MAX(target, 1.0);
        b->last = *now;
        if (is_new)
                return sample_bytes;
        allowed = MAX(b->pct - counting, b->pct * BUDGET_LEAST);
        ratio = samples / allowed;
        if (ratio >= BUDGET_CALM && ratio <= 1)
                return sample_bytes;
        ratio = MIN(MAX(ratio / BUDGET_AIM, 0.5), BUDGET_STEP);
        sample_bytes = (uint64_t)((double)sample_bytes * ratio) & ~(uint64_t)1023;
        return MIN(MAX(sample_bytes, (uint64_t)BUDGET_MIN_BYTES), (uint64_t)BUDGET_MAX_BYTES);
}
