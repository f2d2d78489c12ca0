/* SPDX-License-Identifier: MIT */
#include "tick/tick_runs.h"

/* What late timers did not sample goes with the samples that follow, so much of it with each. */
enum { LATE_SHARE = 8 };

static uint64_t beyond(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static uint64_t ran_until(const struct tick_run *r, uint64_t time_ns) {
        return r->ran_ns + (r->since_ns ? beyond(time_ns, r->since_ns) : 0);
}

/* ---- records --------------------------------------------------------------------------------------- */

void tick_run_begin(struct tick_thread *t, uint64_t time_ns) {
        tick_run_settle(t, time_ns);
        if (!t->run.is_known)
                t->run = (struct tick_run){.is_known = true,
                                           .kernel_told_ns = t->run.kernel_told_ns};
        t->run.since_ns = time_ns;
}

void tick_run_end(struct tick_thread *t, uint64_t time_ns) {
        tick_run_settle(t, time_ns);
        t->run.ran_ns = ran_until(&t->run, time_ns);
        if (t->run.since_ns)
                t->run.until_ns = time_ns;
        t->run.since_ns = 0;
}

void tick_run_sample(struct tick_thread *t, uint64_t ns) {
        t->run.sampled_ns += ns;
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
        tick_run_sample(t, ns);
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
        tick_run_sample(t, ns);
}

bool tick_run_take_rest(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret) {
        uint64_t ns;

        tick_run_end(t, time_ns);
        ns = tick_run_unsampled_ns(t, time_ns);
        if (!ns)
                return false;
        tick_run_take(t, ns, time_ns, ret);
        t->run = (struct tick_run){.kernel_told_ns = t->run.kernel_told_ns};
        return true;
}
