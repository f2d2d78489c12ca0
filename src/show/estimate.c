/* SPDX-License-Identifier: MIT */
#include "show/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/units.h"

void estimate_add_error(struct str *to, double error, double value, bool utf8) {
        double pct = value > 0 ? error * 100 / value : 0;

        if (!(pct > 0))
                return;
        str_add(to, utf8 ? " ±" : " +-");
        str_addf(to, pct < 0.95 ? "%.1f %%" : "%.0f %%", MIN(pct, 999.0));
}

void estimate_add_sentence(struct str *to, const struct query *q, bool is_tallied) {
        const struct trace_view *v = query_view(q);
        uint64_t now_bytes = query_sample_bytes(q);
        struct unit_text t;

        if (!now_bytes)
                return;
        str_addf(to, "Estimated from samples of one in %s", unit_bytes(&t, now_bytes));
        for (size_t i = 0; i < v->n_tallies; i++)
                if (v->tallies[i].sample_bytes && v->tallies[i].sample_bytes != now_bytes) {
                        str_addf(to, ", later %s", unit_bytes(&t, v->tallies[i].sample_bytes));
                        break;
                }
        str_add(to,
                is_tallied
                        ? ": allocations, frees and bytes allocated are exact; all other figures have the standard error shown."
                        : ": figures have the standard errors shown.");
}

/* CPU time that processes used while they were recorded. What one has at its first sample and cannot have used since it
 * began is older: it was attached to, or was another program before. */
static uint64_t recorded_cpu_ns(const struct trace_view *v, const struct trace_sample *samples,
                                size_t n) {
        enum { SLACK_NS = 100000000 };
        struct span {
                uint64_t before_ns, last_ns;
                bool is_seen;
        } *spans = calloc(v->n_processes + 1, sizeof(*spans));
        uint64_t sum_ns = 0;

        if (!spans)
                abort();
        for (size_t i = 0; i < n; i++) {
                const struct trace_sample *x = &samples[i];
                struct span *s;
                uint64_t start_ns;

                if (x->process >= v->n_processes)
                        continue;
                s = &spans[x->process];
                start_ns = MIN(v->processes[x->process].start.start_ns, x->time_ns);
                if (!s->is_seen && x->cpu_ns > x->time_ns - start_ns + SLACK_NS)
                        s->before_ns = x->cpu_ns;
                s->is_seen = true;
                s->last_ns = MAX(s->last_ns, x->cpu_ns);
        }
        for (uint32_t p = 0; p < v->n_processes; p++)
                sum_ns += spans[p].last_ns - spans[p].before_ns;
        free(spans);
        return sum_ns;
}

/* Of all processes together: the recorder's time has no owner. */
struct estimate_cost estimate_cost(const struct query *q) {
        const struct trace_view *v = query_view(q);
        struct estimate_cost c = {.beside_ns = v->cost.recorder_cpu_ns};
        const struct trace_sample *samples;
        struct err e = {0};
        size_t n;

        for (size_t i = 0; i < v->n_tallies; i++)
                if (v->tallies[i].process != TRACE_NO_PROCESS)
                        c.inside_ns += v->tallies[i].runtime_ns;
        if (query_samples((struct query *)q, &samples, &n, &e) < 0)
                return c;
        c.target_ns = recorded_cpu_ns(v, samples, n);
        if (c.target_ns > c.inside_ns)
                c.pct = 100 * (double)(c.inside_ns + c.beside_ns) /
                        (double)(c.target_ns - c.inside_ns);
        return c;
}

void estimate_put_totals(struct json *j, const struct query *q, const struct query_totals *t) {
        if (!query_sample_bytes(q))
                return;
        json_key(j, "standard_errors");
        json_object(j);
        json_put_double(j, "peak_live_bytes", sqrt(t->var[QUERY_PEAK]), 1);
        json_put_double(j, "end_live_bytes", sqrt(t->var[QUERY_END]), 1);
        json_put_double(j, "temporary_allocations", sqrt(t->var[QUERY_TEMPORARY]), 1);
        json_put_double(j, "allocations", sqrt(t->var[QUERY_COUNT]), 1);
        json_put_double(j, "bytes_allocated", sqrt(t->var[QUERY_ALLOCATED]), 1);
        json_end(j);
}

void estimate_put(struct json *j, const struct query *q, const struct query_answer *a) {
        const struct trace_view *v = query_view(q);
        uint64_t n_unsampled = 0, now_bytes = query_sample_bytes(q);
        struct estimate_cost c;

        if (!now_bytes)
                return;
        for (size_t i = 0; i < v->n_tallies; i++)
                if (v->tallies[i].process != TRACE_NO_PROCESS) {
                        n_unsampled += v->tallies[i].n_unsampled;
                        now_bytes = v->tallies[i].sample_bytes;
                }
        c = estimate_cost(q);
        json_key(j, "sampling");
        json_object(j);
        json_put_uint(j, "interval_bytes", query_sample_bytes(q));
        json_put_uint(j, "last_interval_bytes", now_bytes);
        json_put_uint(j, "samples_not_kept", n_unsampled);
        if (a->is_peak_level)
                json_put_double(j, "peak_excess_bytes", a->peak_excess_bytes, 1);
        json_put_double(j, "runtime_cpu_s", (double)c.inside_ns / 1e9, 6);
        json_put_double(j, "recorder_cpu_s", (double)c.beside_ns / 1e9, 6);
        json_put_double(j, "target_cpu_s", (double)c.target_ns / 1e9, 6);
        json_put_double(j, "cost_pct", c.pct, 3);
        json_end(j);
}
