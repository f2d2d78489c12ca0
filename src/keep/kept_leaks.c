/* SPDX-License-Identifier: MIT */
#include "keep/kept_leaks.h"

#include <errno.h>

#include "keep/suppressed.h"

/* silt names the moment at the end of silt run --leaks so. */
static bool is_at_exit(struct query *q, const struct trace_graph *info) {
        struct query_moment m;

        return query_find_moment(q, info->process, "exit", &m, NULL, NULL) == 0 && m.is_snapshot &&
               m.time_ns == info->time_ns;
}

int kept_leaks_open(struct kept_leaks *l, struct query *q, const char *path, uint32_t process,
                    const suppression_files *files, struct err *reterr) {
        struct err why = {0};
        int r = 0;

        *l = (struct kept_leaks){0};
        for (size_t i = 0; files && r >= 0 && i < files->n; i++)
                r = suppressions_read(&l->suppressions, files->items[i], reterr);
        if (r < 0)
                return r;
        r = kept_graph_open(&l->graph, q, process, &why);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, why.text);
        loss_records_find(&l->graph, &l->records);
        suppressed_find(&l->suppressions, q, &l->records);
        l->sums = loss_records_sum(&l->records);
        l->is_at_exit = is_at_exit(q, &l->graph.info);
        return 0;
}

void kept_leaks_done(struct kept_leaks *l) {
        suppressions_done(&l->suppressions);
        vec_free(&l->records);
        kept_graph_done(&l->graph);
}

uint64_t kept_leaks_lost_bytes(const struct kept_leaks *l) {
        return l->sums.bytes[LEAK_DEFINITE] + l->sums.bytes[LEAK_INDIRECT];
}
