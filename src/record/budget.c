/* SPDX-License-Identifier: MIT */
#include "record/budget.h"

#include <stdbool.h>

#include "base/macros.h"

#define MS 1000000ull

enum {
        BUDGET_FIRST_NS = 100 * MS, /* it may begin far too dense: then it soon ends */
        BUDGET_EVERY_NS = 500 * MS,
        BUDGET_MIN_CPU_NS = 20 * MS, /* of the target: less tells nothing */
        BUDGET_SAMPLE_NS = 20000,    /* a sample takes no more of the recorder */
};

#define BUDGET_AIM 0.85  /* of the budget */
#define BUDGET_CALM 0.6  /* from here to 1.0 of the budget nothing changes */
#define BUDGET_STEP 4.0  /* at most so many times the distance, or half of it */
#define BUDGET_LEAST 0.1 /* of the budget is for samples, whatever counting takes */
#define BUDGET_BUSY 0.1  /* of a processor: a program that sleeps more is taken to use that */

/* A process that is gone may take its figures along: sums that shrink are no differences. */
static bool has_grown(const struct budget_figures *now, const struct budget_figures *last) {
        return now->target_ns >= last->target_ns + BUDGET_MIN_CPU_NS &&
               now->inside_ns >= last->inside_ns && now->counting_ns >= last->counting_ns &&
               now->beside_ns >= last->beside_ns && now->n_samples >= last->n_samples;
}

struct budget_shares budget_shares(const struct budget_figures *from,
                                   const struct budget_figures *to) {
        double inside = (double)(to->inside_ns - from->inside_ns);
        double counting = (double)(to->counting_ns - from->counting_ns);
        double beside = (double)(to->beside_ns - from->beside_ns);
        double sampled = MIN(beside, (double)(to->n_samples - from->n_samples) * BUDGET_SAMPLE_NS);
        double target = (double)(to->target_ns - from->target_ns) - inside - counting;

        target = MAX(target, BUDGET_BUSY * (double)(to->time_ns - from->time_ns));
        target = MAX(target, 1.0);
        return (struct budget_shares){
                .samples_pct = (inside + sampled) * 100 / target,
                .counting_pct = counting * 100 / target,
                .rest_pct = (beside - sampled) * 100 / target,
        };
}

uint64_t budget_step(struct budget *b, const struct budget_figures *now, uint64_t sample_bytes) {
        struct budget_shares s;
        double allowed, ratio;

        if (b->next_ns == 0) {
                b->next_ns = now->time_ns + BUDGET_FIRST_NS;
                b->first = b->last = *now;
                return sample_bytes;
        }
        if (!has_grown(now, &b->last)) {
                if (now->target_ns < b->last.target_ns || now->inside_ns < b->last.inside_ns)
                        b->last = *now;
                b->next_ns = now->time_ns + BUDGET_FIRST_NS;
                return sample_bytes;
        }
        b->next_ns = now->time_ns + BUDGET_EVERY_NS;
        s = budget_shares(&b->last, now);
        b->last = *now;
        allowed = MAX(b->pct - s.counting_pct - s.rest_pct, b->pct * BUDGET_LEAST);
        ratio = s.samples_pct / allowed;
        if (ratio >= BUDGET_CALM && ratio <= 1)
                return sample_bytes;
        ratio = MIN(MAX(ratio / BUDGET_AIM, 0.5), BUDGET_STEP);
        sample_bytes = (uint64_t)((double)sample_bytes * ratio) & ~(uint64_t)1023;
        return MIN(MAX(sample_bytes, (uint64_t)BUDGET_MIN_BYTES), (uint64_t)BUDGET_MAX_BYTES);
}
