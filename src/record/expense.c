/* SPDX-License-Identifier: MIT */
#include "record/expense.h"

#include <sys/resource.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "record/proc.h"
#include "record/recorder_state.h"
#include "trace/writer.h"

/* How often it says what it costs, and at the end; more seldom the longer it lasts. */
#define COST_NS 10000000000ull
enum { COST_SHARE = 64 };

void expense_tell(struct recorder *r, uint64_t now_ns) {
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

void expense_keep_budget(struct recorder *r, uint64_t now_ns) {
        struct wire_header *h = shm_header(r->config->shm);
        struct budget_figures now = {0};
        uint64_t sample_bytes, wanted_bytes;

        if (!budget_is_due(&r->budget, now_ns))
                return;
        for (size_t i = 0; i < r->lives.list.n; i++) {
                const struct life *one = r->lives.list.items[i];
                struct pipeline_totals totals;

                if (one->is_over || one->is_ending ||
                    !pipeline_get_totals(r->pipeline, one->trace_process, &totals))
                        continue;
                now.target_ns += proc_cpu_ns(one->pid);
                now.inside_ns += totals.sample_ns;
                now.counting_ns += totals.count_ns;
        }
        now.beside_ns = proc_cpu_ns(getpid());
        sample_bytes = atomic_load_explicit(&h->sample_bytes, memory_order_relaxed);
        wanted_bytes = budget_step(&r->budget, &now, sample_bytes, now_ns);
        if (wanted_bytes == sample_bytes)
                return;
        recorder_log(r, "samples are %llu bytes apart, were %llu", (unsigned long long)wanted_bytes,
                     (unsigned long long)sample_bytes);
        /* relaxed: each sample says what it was drawn with */
        atomic_store_explicit(&h->sample_bytes, wanted_bytes, memory_order_relaxed);
}
