/* SPDX-License-Identifier: MIT */
#include "tick/tick_runs.h"

#include <string.h>

/* What late timers did not sample goes with the samples that follow, so much of it with each. */
enum { LATE_SHARE = 8 };
/* So long a thread may run at least without a sample. */
enum { MIN_GAP_NS = 1000000 };

static uint64_t beyond(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static uint64_t ran_until(const struct tick_run *r, uint64_t time_ns) {
        return r->ran_ns + (r->since_ns ? beyond(time_ns, r->since_ns) : 0);
}

/* ---- records --------------------------------------------------------------------------------------- */

static void merge_nearest(struct tick_run *r) {
        struct tick_gap *g = r->gaps;
        size_t best = 0;

        for (size_t i = 1; i + 1 < r->n_gaps; i++)
                if (g[i + 1].begin_ns - g[i].end_ns < g[best + 1].begin_ns - g[best].end_ns)
                        best = i;
        g[best].end_ns = g[best + 1].end_ns;
        g[best].ran_ns += g[best + 1].ran_ns;
        memmove(g + best + 1, g + best + 2, (--r->n_gaps - best - 1) * sizeof(*g));
}

/* Up to end_ns it has run since its last sample, or since it came; min_ns without samples, in any number of turns, are as it should be. */
static void note_gap(struct tick_run *r, uint64_t min_ns, uint64_t end_ns) {
        uint64_t begin_ns = MAX(r->since_ns, r->sampled_until_ns);

        if (!r->since_ns || end_ns <= begin_ns ||
            beyond(ran_until(r, end_ns), r->sampled_ran_ns) <= min_ns)
                return;
        if (r->n_gaps == TICK_N_GAPS)
                merge_nearest(r);
        r->gaps[r->n_gaps++] = (struct tick_gap){begin_ns, end_ns, end_ns - begin_ns};
}

void tick_run_begin(struct tick_thread *t, uint64_t time_ns) {
        tick_run_settle(t, time_ns);
        if (!t->run.is_known)
                t->run = (struct tick_run){.is_known = true,
                                           .kernel_told_ns = t->run.kernel_told_ns};
        t->run.since_ns = time_ns;
}

void tick_run_end(struct tick_thread *t, uint64_t time_ns) {
        tick_run_settle(t, time_ns);
        note_gap(&t->run, MAX(t->run.period_ns, (uint64_t)MIN_GAP_NS), time_ns);
        t->run.ran_ns = ran_until(&t->run, time_ns);
        if (t->run.since_ns)
                t->run.until_ns = time_ns;
        t->run.since_ns = 0;
}

void tick_run_sample(struct tick_thread *t, uint64_t period_ns, uint64_t time_ns) {
        note_gap(&t->run, period_ns / 2, beyond(time_ns, period_ns));
        t->run.period_ns = period_ns;
        t->run.sampled_until_ns = time_ns;
        t->run.sampled_ran_ns = ran_until(&t->run, time_ns);
        t->run.sampled_ns += period_ns;
}

/* ---- counts ---------------------------------------------------------------------------------------- */

bool tick_run_wants_count(const struct tick_thread *t, uint64_t slack_ns, uint64_t time_ns) {
        const struct tick_run *r = &t->run;

        return r->is_known && (!r->is_counted || (ran_until(r, time_ns) != r->counted_ran_ns &&
                                                  tick_run_unsampled_ns(t, time_ns) >= slack_ns));
}

void tick_run_count(struct tick_thread *t, uint64_t counted_ns, uint64_t time_ns) {
        t->run.count.ns = counted_ns;
        t->run.count.at_ns = time_ns;
}

/* A count moves when the thread leaves its CPU and when the kernel's clock ticks. So one that has moved is of a moment behind the one before, however rarely
 * the clock ticks: by the one before, or later, others had what had been run then and is not in it. */
void tick_run_settle(struct tick_thread *t, uint64_t time_ns) {
        struct tick_run *r = &t->run;
        uint64_t at_ns = r->count.at_ns, counted_ns = r->count.ns, ran_ns, own_ns, sure_ns = 0;

        if (!at_ns || at_ns > time_ns)
                return;
        r->count.at_ns = 0;
        r->is_counted = true;
        ran_ns = ran_until(r, at_ns);
        if (counted_ns == TICK_NO_COUNT) {
                r->owed_ns = beyond(ran_ns, r->sampled_ns);
                return;
        }
        if (counted_ns < r->counted_ns) /* not of this thread any more */
                return;
        r->before_ns = MAX(r->before_ns, beyond(counted_ns, ran_ns));
        own_ns = counted_ns - r->before_ns;
        if (!r->since_ns)
                sure_ns = ran_ns;
        else if (counted_ns != r->counted_ns)
                sure_ns = r->counted_ran_ns;
        r->stolen_ns = MAX(r->stolen_ns, beyond(sure_ns, own_ns));
        r->owed_ns = beyond(own_ns, r->sampled_ns);
        r->counted_ran_ns = ran_ns;
        r->counted_ns = counted_ns;
}

/* ---- what no sample stands for --------------------------------------------------------------------- */

uint64_t tick_run_unsampled_ns(const struct tick_thread *t, uint64_t time_ns) {
        const struct tick_run *r = &t->run;

        return r->is_known ? beyond(ran_until(r, time_ns), r->sampled_ns + r->stolen_ns) : 0;
}

/* Of a count that is of later the thread has run at most what is between. */
uint64_t tick_run_owed_ns(const struct tick_thread *t, uint64_t kept_ns, uint64_t time_ns) {
        const struct tick_run *r = &t->run;
        uint64_t owed_ns = r->owed_ns;

        if (r->is_counted && r->count.at_ns >= time_ns && r->count.ns != TICK_NO_COUNT)
                owed_ns = MAX(owed_ns, beyond(r->count.ns, r->count.at_ns - time_ns + r->before_ns +
                                                                   r->sampled_ns));
        return beyond(MIN(owed_ns, tick_run_unsampled_ns(t, time_ns)), kept_ns);
}

/* The thread was where its next samples are, and shares of functions stay what they are. Little by little, so that no sample counts for tens of
 * others. */
uint64_t tick_run_take_late(struct tick_thread *t, uint64_t period_ns, uint64_t kept_ns,
                            uint64_t time_ns) {
        uint64_t ns;

        tick_run_settle(t, time_ns);
        ns = tick_run_owed_ns(t, kept_ns, time_ns);
        ns = MIN(ns, MAX(period_ns, ns / LATE_SHARE));
        t->run.owed_ns = beyond(t->run.owed_ns, ns);
        t->run.sampled_ns += ns;
        return ns;
}

uint64_t tick_run_place_late(struct tick_thread *t, uint64_t ns, uint64_t max_ns, uint64_t time_ns,
                             uint64_t *ret_end_ns) {
        struct tick_run *r = &t->run;
        struct tick_gap *last;
        uint64_t length_ns;

        *ret_end_ns = time_ns;
        if (!r->n_gaps)
                return ns;
        last = &r->gaps[r->n_gaps - 1];
        *ret_end_ns = last->end_ns;
        length_ns = last->end_ns - last->begin_ns;
        ns = MIN(ns, MIN(max_ns, last->ran_ns));
        last->end_ns -= (uint64_t)((__uint128_t)length_ns * ns / last->ran_ns);
        last->ran_ns -= ns;
        r->n_gaps -= last->ran_ns == 0;
        return ns;
}

void tick_run_take(struct tick_thread *t, uint64_t ns, uint64_t time_ns, struct ticker_tick *ret) {
        struct tick_run *r = &t->run;

        *ret = (struct ticker_tick){.process = t->process->tag,
                                    .thread = t->tag,
                                    .state = TICKER_RUNS,
                                    .time_ns = r->since_ns || !r->until_ns ? time_ns : r->until_ns,
                                    .weight_ns = ns,
                                    .n_samples = 1,
                                    .path = {.end = REMOTE_LOST},
                                    .space = t->process->space};
        r->owed_ns = beyond(r->owed_ns, ns);
        r->sampled_ns += ns;
}

bool tick_run_take_rest(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret) {
        uint64_t ns, end_ns;

        tick_run_end(t, time_ns);
        ns = tick_run_unsampled_ns(t, time_ns);
        if (!ns)
                return false;
        ns = tick_run_place_late(t, ns, ns, 0, &end_ns);
        tick_run_take(t, ns, time_ns, ret);
        if (end_ns)
                ret->time_ns = end_ns;
        ret->n_samples = !tick_run_unsampled_ns(t, time_ns); /* its parts are one */
        if (ret->n_samples)
                t->run = (struct tick_run){.kernel_told_ns = t->run.kernel_told_ns};
        return true;
}
