/* SPDX-License-Identifier: MIT */
#include "query/found_paths.h"

#include "query/call_path.h"
#include "query/path_search.h"
#include "query/query_internal.h"
#include "query/spent_time.h"

enum { FRAME_UNKNOWN, FRAME_DIFFERS, FRAME_MATCHES };

struct finding_paths {
        struct path_search *search;
        struct call_paths paths;
        uint8_t *frames; /* by number: what is known of each */
};

static bool frame_matches(struct finding_paths *x, uint32_t number) {
        if (x->frames[number] == FRAME_UNKNOWN) {
                struct query_frame f = call_paths_frame(x->paths.q, number);

                x->frames[number] =
                        path_search_has_frame(x->search, &f) ? FRAME_MATCHES : FRAME_DIFFERS;
        }
        return x->frames[number] == FRAME_MATCHES;
}

static bool is_shown(struct finding_paths *x, uint32_t stack) {
        call_paths_load(&x->paths, stack);
        for (size_t i = 0; i < x->paths.shown.n; i++)
                if (frame_matches(x, x->paths.shown.items[i].number))
                        return true;
        return false;
}

int query_find_paths(struct query *q, const struct query_answer *a, enum query_metric metric,
                     const char *pattern, bool is_full, struct query_found *ret,
                     struct err *reterr) {
        _cleanup_(path_search_freep) struct path_search *s = NULL;
        size_t n_frames = q->view->n_symbols + q->view->n_locations;
        struct finding_paths x = {0};
        struct query_found found = {0};
        int r = path_search_new(q, pattern, &s, reterr);

        if (r < 0)
                return r;
        path_search_with_labels(s);
        x = (struct finding_paths){.search = s, .frames = calloc(n_frames + 1, 1)};
        if (!x.frames)
                abort();
        call_paths_init(&x.paths, q, CALL_PATH_BY_PLACE, is_full);
        x.paths.is_of_time = query_metric_time(metric);
        for (size_t i = 0; r >= 0 && i < a->n_sites && query_go_on_at(q, i, a->n_sites); i++) {
                int64_t value = query_figure_of(&a->sites[i].f, metric).value;

                found.whole += value;
                r = path_search_has(s, a->sites[i].stack, reterr);
                if (r <= 0)
                        continue;
                found.value += value;
                found.n_paths++;
                if (is_full || is_shown(&x, a->sites[i].stack)) {
                        found.shown_value += value;
                        found.n_shown_paths++;
                }
        }
        call_paths_done(&x.paths);
        free(x.frames);
        if (r >= 0)
                r = query_end(q, reterr);
        if (r >= 0)
                *ret = found;
        return r < 0 ? r : 0;
}
