/* SPDX-License-Identifier: MIT */
#include "query/rss.h"

#include "query/process_ends.h"
#include "query/query_internal.h"
#include "query/resident_sum.h"

static uint64_t sample_resident(const struct trace_sample *s) {
        return s->anon_bytes + s->file_bytes + s->shmem_bytes;
}

int rss_find_peaks(struct query *q, const struct query_scope *w, struct query_totals *processes,
                   uint64_t *ret_all, struct err *reterr) {
        size_t n_processes = q->view->n_processes;
        const struct trace_sample *s;
        struct resident_sum sum;
        size_t n;
        int r;

        resident_sum_init(&sum, q, QUERY_ALL);
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n && s[i].time_ns < w->to_ns; i++) {
                uint32_t p = s[i].process;

                if (!resident_sum_take(&sum, &s[i]) || s[i].time_ns < w->from_ns)
                        continue;
                processes[p].peak_rss_bytes =
                        MAX(processes[p].peak_rss_bytes, sample_resident(&s[i]));
                *ret_all = MAX(*ret_all, query_resident_bytes(&sum.all));
        }
        resident_sum_done(&sum);
        /* The kernel's own high-water mark sees what lies between two samples, but only for the
         * whole time. */
        for (size_t p = 0; p < n_processes && w->from_ns == 0 && w->to_ns == UINT64_MAX; p++) {
                uint64_t peak = q->view->processes[p].end.peak_rss_bytes;

                processes[p].peak_rss_bytes = MAX(processes[p].peak_rss_bytes, peak);
                *ret_all = MAX(*ret_all, peak);
        }
        return r;
}

/* ---- the highest moment, part by part -------------------------------------------------------- */

int query_resident(struct query *q, const struct query_scope *scope, struct query_resident *ret,
                   struct err *reterr) {
        const struct trace_sample *s;
        uint64_t most_bytes = 0;
        struct resident_sum sum;
        size_t n, n_samples = 0;
        int r;

        *ret = (struct query_resident){0};
        resident_sum_init(&sum, q, scope->process);
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n && s[i].time_ns < scope->to_ns; i++) {
                if (!resident_sum_take(&sum, &s[i]) || s[i].time_ns < scope->from_ns)
                        continue;
                if (!n_samples++ || query_resident_bytes(&sum.all) > most_bytes) {
                        most_bytes = query_resident_bytes(&sum.all);
                        *ret = sum.all;
                }
        }
        ret->n_samples = n_samples;
        resident_sum_done(&sum);
        return r;
}

uint64_t rss_runtime_peak(const struct query *q, const struct query_totals *processes) {
        size_t n = q->view->n_processes;
        bool *is_gone = calloc(n + 1, sizeof(*is_gone));
        uint64_t now = 0, most = 0;
        struct process_ends ends;

        if (!is_gone)
                abort();
        process_ends_init(&ends, q);
        for (uint32_t p = 0; p < n; p++) { /* they are numbered as they begin, or nearly */
                uint64_t start_ns = q->view->processes[p].start.start_ns;

                for (uint32_t e; (e = process_ends_take(&ends, start_ns)) != TRACE_NO_PROCESS;) {
                        is_gone[e] = true;
                        now -= e < p ? processes[e].runtime_bytes : 0;
                }
                now += is_gone[p] ? 0 : processes[p].runtime_bytes;
                most = MAX(most, now);
        }
        process_ends_done(&ends);
        free(is_gone);
        return most;
}

int query_anon(struct query *q, uint32_t process, struct query_anon *ret, struct err *reterr) {
        const struct trace_sample *s;
        size_t n;
        int r;

        *ret = (struct query_anon){0};
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                if (s[i].process != process)
                        continue;
                if (!ret->n_samples++)
                        ret->first_bytes = s[i].anon_bytes;
                ret->last_ns = MAX(ret->last_ns, s[i].time_ns);
                if (s[i].anon_bytes > ret->peak_bytes) {
                        ret->peak_bytes = s[i].anon_bytes;
                        ret->peak_ns = s[i].time_ns;
                }
        }
        return r;
}
