/* SPDX-License-Identifier: MIT */
#include "sql/space.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/units.h"
#include "finding/finding.h"
#include "query/trace_origin.h"
#include "query/trace_times.h"
#include "request/request.h"
#include "sql/path_text.h"
#include "sql/pattern_cache.h"
#include "sql/space_graph.h"
#include "sql/window_sites.h"

struct query_scope space_scope(const struct sql_space *s) {
        struct query_scope scope = query_whole(s->trace.q);

        scope.process = s->process;
        return scope;
}

static int site_compare(const void *a, const void *b) {
        const struct query_site *x = a, *y = b;

        return (x->stack > y->stack) - (x->stack < y->stack);
}

void space_sort_sites(struct query_answer *a) {
        if (a->n_sites > 1)
                qsort(a->sites, a->n_sites, sizeof(a->sites[0]), site_compare);
}

int space_whole(struct sql_space *s, const struct query_answer **ret, struct err *reterr) {
        struct query_scope scope = space_scope(s);
        int r;

        if (!s->whole) {
                r = query_ask(s->trace.q, &scope, &s->whole, reterr);
                if (r < 0)
                        return r;
                space_sort_sites(s->whole);
        }
        s->is_inexact |= !s->whole->is_exact;
        *ret = s->whole;
        return 0;
}

bool space_knows_reallocs(struct sql_space *s) {
        const struct query_answer *whole = NULL;
        struct err unsaid = {0};

        if (!origin_is_import(&s->view->meta))
                return origin_knows_reallocs(&s->view->meta, 0);
        return space_whole(s, &whole, &unsaid) >= 0 &&
               origin_knows_reallocs(&s->view->meta, whole->totals.n_reallocs);
}

int space_check_window(const struct sql_space *s, uint64_t from_ns, uint64_t to_ns,
                       struct err *reterr) {
        struct unit_text a, b;

        if (to_ns < from_ns)
                return err_set(reterr, -EINVAL, "the window ends at %s, before it begins at %s",
                               query_moment_text(s->trace.q, &a, to_ns),
                               query_moment_text(s->trace.q, &b, from_ns));
        if (from_ns > s->view->end_ns)
                return err_set(reterr, -EINVAL,
                               "%s lies behind the end of the recording, which is at %s",
                               query_moment_text(s->trace.q, &a, from_ns),
                               query_moment_text(s->trace.q, &b, s->view->end_ns));
        return 0;
}

void space_done(struct sql_space *s) {
        window_sites_done(s);
        path_texts_done(s);
        stack_children_done(s);
        free(s->threads);
        s->threads = NULL;
        free(s->mappings);
        s->mappings = NULL;
        s->findings = findings_free(s->findings);
        s->whole = query_answer_free(s->whole);
        s->spare = query_free(s->spare);
        live_moments_done(s);
        s->patterns = pattern_cache_free(s->patterns);
        space_graphs_done(s);
}

struct query *space_borrow(struct sql_space *s) {
        struct query *q = s->spare ? s->spare : query_open_shared(s->trace.q);

        s->spare = NULL;
        return q;
}

void space_return(struct sql_space *s, struct query *q) {
        if (!q)
                return;
        query_set_progress(q, NULL, NULL);
        if (s->spare)
                query_free(q);
        else
                s->spare = q;
}

bool space_lacks_time(const struct sql_space *s) {
        return s->view->meta.flags & TRACE_LACKS_TIME;
}

int space_check_detail(struct sql_space *s, uint64_t from_ns, uint64_t until_ns,
                       struct err *reterr) {
        uint64_t known_ns = s->view->detail_from_ns;

        if (s->view->meta.flags & TRACE_IS_TOTALS)
                return err_set(reterr, -ENODATA,
                               "%s has sums by call path and no single allocations: the tables "
                               "'sites' and 'window' of silt sql have those",
                               s->trace.path);
        if (from_ns >= known_ns)
                return 0;
        if (until_ns < known_ns)
                return err_set(
                        reterr, -ENODATA,
                        "%s has single allocations from %.6g s on, older ones were dropped to "
                        "keep the file small: ask about later, or the tables 'sites' and 'window' of silt sql",
                        s->trace.path, (double)known_ns / 1e9);
        s->lacks_detail = true;
        return 0;
}

/* As options take it. */
static int time_of_text(struct sql_space *s, const char *text, uint64_t *ret_ns, bool *ret_is_peak,
                        struct err *reterr) {
        struct request request = REQUEST_DEFAULT;
        struct request_resolved resolved = {0};
        struct query_moment moment;
        int r = request_set(&request, "at", text, reterr);

        if (r >= 0 && request.at.name)
                r = query_find_moment(s->trace.q, s->process, request.at.name, &moment, NULL,
                                      reterr);
        if (r >= 0) {
                *ret_ns = request.at.name ? moment.time_ns : request.at.ns;
                *ret_is_peak = request.at.name && moment.edge == QUERY_AT_PEAK;
        }
        request_resolved_done(&resolved);
        request_done(&request);
        return MIN(r, 0);
}

int space_moment(struct sql_space *s, struct sqlite3_value *v, uint64_t without_ns,
                 uint64_t *ret_ns, bool *ret_is_peak, struct err *reterr) {
        int type = v ? sqlite3_value_type(v) : SQLITE_NULL;

        *ret_is_peak = false;
        if (type == SQLITE_NULL) {
                *ret_ns = without_ns;
                return 0;
        }
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
                double ns = sqlite3_value_double(v);

                if (isnan(ns) || ns < 0)
                        return err_set(reterr, -EINVAL,
                                       "%g is not a time: write '5s', '@NAME' or nanoseconds", ns);
                *ret_ns = ns >= 0x1p63             ? UINT64_MAX
                          : type == SQLITE_INTEGER ? (uint64_t)sqlite3_value_int64(v)
                                                   : (uint64_t)ns;
                return 0;
        }
        return time_of_text(s, (const char *)sqlite3_value_text(v), ret_ns, ret_is_peak, reterr);
}

int space_time(struct sql_space *s, struct sqlite3_value *v, uint64_t without_ns, uint64_t *ret_ns,
               struct err *reterr) {
        bool is_peak;

        return space_moment(s, v, without_ns, ret_ns, &is_peak, reterr);
}
