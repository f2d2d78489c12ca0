/* SPDX-License-Identifier: MIT */
#include "query/rss.h"

#include "base/vec.h"
#include "query/process_ends.h"
#include "query/query_internal.h"

static uint64_t sample_resident(const struct trace_sample *s) {
        return s->anon_bytes + s->file_bytes + s->shmem_bytes;
}

/* Resident bytes of the processes alive, added up. */
struct rss_sum {
        uint64_t *now; /* one a process */
        uint64_t bytes;
        struct process_ends ends;
        VEC(uint32_t) late; /* sampled when they had ended: gone with the next that ends */
};

static void rss_sum_drop(struct rss_sum *s, uint32_t process) {
        s->bytes -= s->now[process];
        s->now[process] = 0;
}

static void rss_sum_put(struct rss_sum *s, const struct trace_sample *sample) {
        if (process_ends_next_ns(&s->ends) < sample->time_ns) {
                for (uint32_t p;
                     (p = process_ends_take(&s->ends, sample->time_ns)) != TRACE_NO_PROCESS;)
                        rss_sum_drop(s, p);
                for (size_t i = 0; i < s->late.n; i++)
                        rss_sum_drop(s, s->late.items[i]);
                vec_clear(&s->late);
        }
        if (query_process_end_ns(s->ends.q, sample->process) < sample->time_ns)
                vec_push(&s->late, sample->process);
        s->bytes += sample_resident(sample) - s->now[sample->process];
        s->now[sample->process] = sample_resident(sample);
}

int rss_find_peaks(struct query *q, const struct query_scope *w, struct query_totals *processes,
                   uint64_t *ret_all, struct err *reterr) {
        size_t n_processes = q->view->n_processes;
        struct rss_sum sum = {.now = calloc(n_processes + 1, sizeof(uint64_t))};
        const struct trace_sample *s;
        size_t n;
        int r;

        if (!sum.now)
                abort();
        process_ends_init(&sum.ends, q);
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n && s[i].time_ns < w->to_ns; i++) {
                uint32_t p = s[i].process;

                if (p >= n_processes)
                        continue;
                rss_sum_put(&sum, &s[i]);
                if (s[i].time_ns < w->from_ns)
                        continue;
                processes[p].peak_rss_bytes =
                        MAX(processes[p].peak_rss_bytes, sample_resident(&s[i]));
                *ret_all = MAX(*ret_all, sum.bytes);
        }
        free(sum.now);
        process_ends_done(&sum.ends);
        vec_free(&sum.late);
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

struct resident_sum {
        struct query_resident *now; /* one a process */
        struct query_resident all;
        struct process_ends ends;
};

static void resident_set(struct resident_sum *s, uint32_t process, struct query_resident to) {
        struct query_resident *now = &s->now[process];

        s->all.anon_bytes += to.anon_bytes - now->anon_bytes;
        s->all.file_bytes += to.file_bytes - now->file_bytes;
        s->all.shmem_bytes += to.shmem_bytes - now->shmem_bytes;
        *now = to;
}

int query_resident(struct query *q, const struct query_scope *scope, struct query_resident *ret,
                   struct err *reterr) {
        struct resident_sum sum = {.now = calloc(q->view->n_processes + 1, sizeof(sum.now[0]))};
        const struct trace_sample *s;
        uint64_t most_bytes = 0;
        size_t n;
        int r;

        if (!sum.now)
                abort();
        *ret = (struct query_resident){0};
        process_ends_init(&sum.ends, q);
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n && s[i].time_ns < scope->to_ns; i++) {
                if (s[i].process >= q->view->n_processes ||
                    (scope->process != QUERY_ALL && s[i].process != scope->process))
                        continue;
                for (uint32_t p;
                     (p = process_ends_take(&sum.ends, s[i].time_ns)) != TRACE_NO_PROCESS;)
                        resident_set(&sum, p, (struct query_resident){0});
                if (query_process_end_ns(q, s[i].process) < s[i].time_ns && ret->n_samples)
                        continue; /* seen when it had ended */
                resident_set(&sum, s[i].process,
                             (struct query_resident){.anon_bytes = s[i].anon_bytes,
                                                     .file_bytes = s[i].file_bytes,
                                                     .shmem_bytes = s[i].shmem_bytes});
                if (s[i].time_ns < scope->from_ns)
                        continue;
                if (!ret->n_samples || query_resident_bytes(&sum.all) > most_bytes) {
                        size_t n_samples = ret->n_samples;

                        most_bytes = query_resident_bytes(&sum.all);
                        *ret = sum.all;
                        ret->n_samples = n_samples;
                }
                ret->n_samples++;
        }
        free(sum.now);
        process_ends_done(&sum.ends);
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
