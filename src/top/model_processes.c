/* SPDX-License-Identifier: MIT */
#include "top/model_processes.h"

#include <stdlib.h>

#include "base/macros.h"

enum { MAX_RESIDENT = 64 }; /* processes whose resident memory is looked up */

static int compare_processes(const void *a, const void *b) {
        const struct model_process *x = a, *y = b;

        if (x->is_alive != y->is_alive)
                return x->is_alive ? -1 : 1;
        if (x->live_bytes != y->live_bytes)
                return x->live_bytes > y->live_bytes ? -1 : 1;
        return x->process < y->process ? -1 : x->process > y->process;
}

static void find_resident(struct model *m, struct model_process *p) {
        struct query_scope last = {.process = p->process, .to_ns = UINT64_MAX};
        struct query_column column;

        last.from_ns = m->now.time_ns ? m->now.time_ns - 1 : 0;
        if (p->is_alive && query_timeline(m->q, &last, 1, 0, &column, NULL) >= 0) {
                p->has_rss = column.has_rss;
                p->rss_bytes = column.rss_bytes;
        }
}

void model_fill_processes(struct model *m) {
        const struct trace_view *v = query_view(m->q);
        size_t n = MIN(m->answer->n_processes, v->n_processes);
        struct model_process *all = calloc(n + 1, sizeof(*all));

        if (!all)
                abort();
        for (size_t i = 0; i < n; i++) {
                const struct query_totals *t = &m->answer->processes[i];

                all[i] = (struct model_process){
                        .process = (uint32_t)i,
                        .is_alive = !v->processes[i].has_end,
                        .live_bytes = t->end_bytes,
                        .growth_bytes = (int64_t)(t->end_bytes - t->begin_bytes),
                        .allocs_per_s = model_per_s(m, (double)t->n_allocs),
                };
        }
        qsort(all, n, sizeof(*all), compare_processes);
        m->n_all_processes = n;
        m->n_processes = MIN(n, (size_t)MODEL_MAX_PROCESSES);
        for (size_t i = 0; i < m->n_processes; i++) {
                m->processes[i] = all[i];
                if (i < MAX_RESIDENT)
                        find_resident(m, &m->processes[i]);
        }
        free(all);
}
