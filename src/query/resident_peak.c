/* SPDX-License-Identifier: MIT */
#include "query/resident_peak.h"

#include "query/query_internal.h"

enum { PEAK_MIN_BYTES = 8 << 20 }; /* by which blocks are more */

/* What silt itself had at most counts as the child's: less than that is unknown. */
#define PEAK_KNOWN_BYTES (64ull << 20)

/* Of its child the kernel tells at the end how much was resident at most; other processes may have touched much after their last sample. */
static bool is_exact(const struct query *q, const struct query_scope *scope,
                     const struct query_totals *totals) {
        uint32_t process = query_main_process(q);
        const struct trace_process_info *p = &q->view->processes[process];

        return query_n_pids(q) == 1 && p->has_end && totals->peak_bytes >= PEAK_KNOWN_BYTES &&
               (scope->process == process || scope->process == QUERY_ALL) &&
               (p->end.ended == TRACE_ENDED_EXIT || p->end.ended == TRACE_ENDED_SIGNAL ||
                p->end.ended == TRACE_ENDED_OOM);
}

static uint64_t untouched_bytes(struct query *q, const struct query_scope *scope) {
        _cleanup_free_ struct query_residency *rows = NULL;
        struct err err = {0};
        uint64_t bytes = 0;
        size_t n = 0;

        if (query_residency(q, scope, &rows, &n, &err) < 0)
                return 0;
        for (size_t i = 0; i < n; i++)
                bytes += query_residency_slack_bytes(&rows[i]);
        return bytes;
}

static bool has_sample_behind_peak(struct query *q, const struct query_scope *scope,
                                   const struct query_totals *totals) {
        struct query_anon anon = {0};
        struct err err = {0};

        return scope->process != QUERY_ALL && query_anon(q, scope->process, &anon, &err) >= 0 &&
               anon.n_samples && anon.last_ns >= totals->peak_ns;
}

void query_resident_peak(struct query *q, const struct query_scope *scope,
                         const struct query_totals *totals, struct query_resident_peak *ret) {
        uint64_t blocks_bytes = totals->peak_bytes, bytes = totals->peak_rss_bytes;

        *ret = (struct query_resident_peak){.bytes = bytes};
        if (!bytes || scope->from_ns || scope->to_ns != UINT64_MAX ||
            !query_filter_is_empty(scope->filter) || query_sample_bytes(q))
                return;
        ret->untouched_bytes = MIN(untouched_bytes(q, scope), blocks_bytes);
        ret->is_exact = is_exact(q, scope, totals);
        if (blocks_bytes / 3 * 2 <= bytes || blocks_bytes - bytes < PEAK_MIN_BYTES)
                return;
        ret->is_less = ret->is_exact || has_sample_behind_peak(q, scope, totals);
        ret->is_unknown = !ret->is_less && scope->process != QUERY_ALL;
}
