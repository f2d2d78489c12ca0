/* SPDX-License-Identifier: MIT */
#include "query/found_paths.h"

#include "query/call_path.h"
#include "query/path_search.h"
#include "query/query_internal.h"
#include "query/spent_time.h"

static bool is_shown(struct path_search *s, struct call_paths *p, uint32_t stack) {
        call_paths_load(p, stack);
        for (size_t i = 0; i < p->shown.n; i++) {
                struct query_frame f = call_paths_frame(p->q, p->shown.items[i].number);

                if (path_search_has_frame(s, &f))
                        return true;
        }
        return false;
}

int query_find_paths(struct query *q, const struct query_answer *a, enum query_metric metric,
                     const char *pattern, bool is_full, struct query_found *ret,
                     struct err *reterr) {
        _cleanup_(path_search_freep) struct path_search *s = NULL;
        struct query_found found = {0};
        struct call_paths p;
        int r = path_search_new(q, pattern, &s, reterr);

        if (r < 0)
                return r;
        path_search_with_labels(s);
        call_paths_init(&p, q, CALL_PATH_BY_PLACE, is_full);
        p.is_of_time = query_metric_time(metric);
        for (size_t i = 0; r >= 0 && i < a->n_sites && query_go_on_at(q, i, a->n_sites); i++) {
                int64_t value = query_figure_of(&a->sites[i].f, metric).value;

                found.whole += value;
                r = path_search_has(s, a->sites[i].stack, reterr);
                if (r <= 0)
                        continue;
                found.value += value;
                found.n_paths++;
                if (is_shown(s, &p, a->sites[i].stack)) {
                        found.shown_value += value;
                        found.n_shown_paths++;
                }
        }
        call_paths_done(&p);
        if (r >= 0)
                r = query_end(q, reterr);
        if (r >= 0)
                *ret = found;
        return r < 0 ? r : 0;
}
