/* SPDX-License-Identifier: MIT */
/* A trace is opened once. Other threads and cursors get queries of their own over the same reader's store; a trace that
 * grows is refreshed, which costs what is new and the small tables of this file. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "query/chosen.h"
#include "query/pick.h"
#include "query/query.h"
#include "query/query_internal.h"

static void index_symbols(struct query *q) {
        const struct trace_view *v = q->view;
        size_t next = 0;

        free(q->symbol_begin);
        q->symbol_begin = calloc(v->n_locations + 2, sizeof(uint32_t));
        if (!q->symbol_begin)
                abort();
        for (size_t l = 0; l <= v->n_locations; l++) {
                while (next < v->n_symbols && v->symbols[next].location < l)
                        next++;
                q->symbol_begin[l] = (uint32_t)next;
        }
}

/* When the last process ended. */
static uint64_t last_end_ns(const struct trace_view *v) {
        uint64_t last_ns = 0;

        for (size_t p = 0; p < v->n_processes; p++) {
                const struct trace_process_info *x = &v->processes[p];

                if (!x->has_end || x->end.ended == TRACE_ENDED_STOPPED)
                        return UINT64_MAX;
                last_ns = MAX(last_ns, x->end.end_ns);
        }
        return last_ns;
}

/* What follows from the view alone. */
static void query_see_view(struct query *q) {
        q->last_end_ns = last_end_ns(q->view);
        process_names_link_images(q);
        process_names_read_titles(q);
        index_symbols(q);
}

int query_open(const char *path, struct query **ret, struct err *reterr) {
        _cleanup_(query_freep) struct query *q = calloc(1, sizeof(*q));
        int r;

        if (!q)
                abort();
        r = trace_reader_open(path, &q->reader, reterr);
        if (r < 0)
                return r;
        q->view = trace_view(q->reader);
        if (q->view->n_processes == 0)
                return err_set(
                        reterr, -ENODATA,
                        "'%s': its program has not started: wait if it is being recorded, or record it again",
                        path);
        query_see_view(q);
        unit_set_weights(q->view->meta.unit);
        *ret = TAKE_PTR(q);
        return 0;
}

struct query *query_open_shared(struct query *with) {
        struct query *q = calloc(1, sizeof(*q));

        if (!q)
                abort();
        q->reader = trace_reader_share(with->reader);
        q->view = trace_view(q->reader);
        query_see_view(q);
        if (with->view == &with->named)
                query_set_symbols(q, with->named.symbols, with->named.n_symbols,
                                  with->named.module_names, with->named.n_module_names);
        return q;
}

/* What earlier answers left behind is by number of symbol, stack or process. */
static void query_forget(struct query *q) {
        process_names_done(q);
        inherited_done(&q->inherit);
        q->pick = pick_free(q->pick);
        chosen_free(q->chosen);
        q->chosen = NULL;
        free(q->looks);
        q->looks = NULL;
        q->n_learned = 0;
        q->damage[0] = 0;
}

int query_refresh(struct query *q, struct err *reterr) {
        struct trace_view named = q->named;
        bool has_names = q->view == &q->named;
        int r = trace_reader_refresh(q->reader, reterr);

        if (r == 0 || r == -EBUSY)
                return r;
        query_forget(q); /* of a file that could be read in part too */
        q->view = trace_view(q->reader);
        if (has_names) {
                q->named = *q->view;
                q->named.symbols = named.symbols, q->named.n_symbols = named.n_symbols;
                q->named.module_names = named.module_names;
                q->named.n_module_names = named.n_module_names;
                q->view = &q->named;
        }
        query_see_view(q);
        return r;
}

struct query *query_free(struct query *q) {
        if (!q)
                return NULL;
        process_names_done(q);
        trace_reader_free(q->reader);
        free(q->symbol_begin);
        query_set_names(q, NULL);
        inherited_done(&q->inherit);
        pick_free(q->pick);
        chosen_free(q->chosen);
        free(q);
        return NULL;
}

void query_set_symbols(struct query *q, const struct trace_symbol *symbols, size_t n_symbols,
                       const struct trace_module_names *modules, size_t n_modules) {
        q->named = *q->view;
        q->named.symbols = symbols;
        q->named.n_symbols = n_symbols;
        q->named.module_names = modules;
        q->named.n_module_names = n_modules;
        q->view = &q->named;
        index_symbols(q);
        free(q->looks); /* they are by number of symbol */
        q->looks = NULL;
}
