/* SPDX-License-Identifier: MIT */
#include "record/own_cost.h"

#include <sys/resource.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "record/proc.h"
#include "record/recorder_state.h"
#include "trace/writer.h"

/* How often it says what it costs, and at the end; more seldom the longer it lasts. */
#define COST_NS 10000000000ull
enum { COST_SHARE = 64 };
#define EXPENSE_JUDGED_NS 1000000000ull /* a shorter one has hardly begun */

void own_cost_tell(struct recorder *r, uint64_t now_ns) {
        struct trace_cost c = {.time_ns = now_ns};
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return;
        c.recorder_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
        c.recorder_cpu_ns =
                (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
        trace_put_cost(r->writer, &c);
        pipeline_put_tallies(r->pipeline);
        r->next_cost_ns = now_ns + MAX(COST_NS, now_ns / COST_SHARE);
}

uint64_t own_cost_due(const void *ctx) {
        const struct recorder *r = ctx;

        return r->next_cost_ns;
}

uint64_t own_cost_observe(void *ctx, uint64_t now_ns) {
        own_cost_tell(ctx, now_ns);
        return OBSERVER_NEVER;
}

/* A process keeps what it had when it was looked at last: it may be gone before the next time. */
static void own_cost_look(struct recorder *r, struct image *one) {
        struct image_cost *x = &one->cost;
        struct pipeline_totals totals;
        uint64_t cpu_ns;

        if (one->is_over || one->is_ending ||
            !pipeline_get_totals(r->pipeline, one->trace_process, &totals))
                return;
        cpu_ns = proc_cpu_ns(one->pid);
        /* what it used before the recording, or as another image, is not of this one */
        if (!x->is_seen && (one->image_number > 1 || r->config->options->attached))
                x->before_cpu_ns = cpu_ns;
        x->is_seen = true;
        x->cpu_ns = MAX(x->cpu_ns, cpu_ns > x->before_cpu_ns ? cpu_ns - x->before_cpu_ns : 0);
        x->sample_ns = MAX(x->sample_ns, totals.sample_ns);
        x->count_ns = MAX(x->count_ns, totals.count_ns);
        x->n_samples = MAX(x->n_samples, totals.tally.n_samples);
}

static struct budget_figures own_cost_sum(struct recorder *r, uint64_t now_ns) {
        const struct image_cost *past = &r->images.past.cost;
        struct budget_figures sum = {
                .time_ns = now_ns,
                .beside_ns = proc_cpu_ns(getpid()),
                .target_ns = past->cpu_ns,
                .inside_ns = past->sample_ns,
                .counting_ns = past->count_ns,
                .n_samples = past->n_samples,
        };

        for (size_t i = 0; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];

                own_cost_look(r, one);
                sum.target_ns += one->cost.cpu_ns;
                sum.inside_ns += one->cost.sample_ns;
                sum.counting_ns += one->cost.count_ns;
                sum.n_samples += one->cost.n_samples;
        }
        return sum;
}

uint64_t own_cost_budget_due(const void *ctx) {
        const struct recorder *r = ctx;

        return budget_due_ns(&r->budget);
}

uint64_t own_cost_keep_budget(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct wire_header *h = shm_header(r->config->shm);
        struct budget_figures now = own_cost_sum(r, now_ns);
        uint64_t sample_bytes = atomic_load_explicit(&h->sample_bytes, memory_order_relaxed);
        uint64_t wanted_bytes = budget_step(&r->budget, &now, sample_bytes);

        if (wanted_bytes == sample_bytes)
                return OBSERVER_NEVER;
        recorder_log(r, "samples are %llu bytes apart, were %llu", (unsigned long long)wanted_bytes,
                     (unsigned long long)sample_bytes);
        /* relaxed: each sample says what it was drawn with */
        atomic_store_explicit(&h->sample_bytes, wanted_bytes, memory_order_relaxed);
        return OBSERVER_NEVER;
}

void own_cost_judge_budget(struct recorder *r) {
        const struct budget *b = &r->budget;
        struct budget_shares s;
        double all_pct;

        if (b->pct <= 0 || b->last.time_ns < b->first.time_ns + EXPENSE_JUDGED_NS)
                return;
        s = budget_shares(&b->first, &b->last);
        all_pct = s.samples_pct + s.counting_pct + s.rest_pct;
        if (all_pct <= b->pct)
                return;
        if (s.counting_pct > b->pct)
                recorder_note(
                        r,
                        "the budget of %g %% was exceeded: counting this program's calls alone takes about %.1f %% of its CPU time, without any samples",
                        b->pct, s.counting_pct);
        else
                recorder_note(
                        r,
                        "the budget of %g %% was exceeded: silt took about %.1f %% of the program's CPU time: %.1f %% for counting, %.1f %% for samples, %.1f %% in the recorder",
                        b->pct, all_pct, s.counting_pct, s.samples_pct, s.rest_pct);
}
