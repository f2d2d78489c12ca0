/* SPDX-License-Identifier: MIT */
#include "answer/columns.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"

/* ---- which call paths ------------------------------------------------------------------------ */

struct ranked {
        uint32_t stack;
        double share; /* the largest it has of any metric */
};

static int compare_ranked(const void *a, const void *b) {
        const struct ranked *x = a, *y = b;

        if (x->share != y->share)
                return x->share < y->share ? 1 : -1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static double share_of(const struct query_figures *f, const struct query_totals *t) {
        double most = 0;

        for (unsigned m = 0; m < QUERY_N_METRICS; m++) {
                uint64_t whole = query_metric_whole(t, (enum query_metric)m);
                double value = (double)query_figure_of(f, (enum query_metric)m).value;

                if (whole && value / (double)whole > most)
                        most = value / (double)whole;
        }
        return most;
}

static uint32_t stack_of(const struct columns_options *o, uint32_t stack) {
        return o->alike ? o->alike(o->ctx, stack) : stack;
}

/* By what they have of all of the recording: what matters in one column alone and nowhere else is small. */
static void choose_paths(struct columns *c, const struct query_answer *all,
                         const struct columns_options *o) {
        VEC(struct query_site) paths = {0};
        VEC(struct ranked) ranks = {0};
        struct map idx_of = {0};

        for (size_t i = 0; i < all->n_sites; i++) {
                uint32_t stack = stack_of(o, all->sites[i].stack);
                bool added;
                uint64_t *idx = map_put(&idx_of, stack, paths.n, &added);

                if (added)
                        vec_push(&paths, (struct query_site){.stack = stack});
                query_figures_add(&paths.items[*idx].f, &all->sites[i].f);
        }
        for (size_t i = 0; i < paths.n; i++)
                vec_push(&ranks, (struct ranked){paths.items[i].stack,
                                                 share_of(&paths.items[i].f, &all->totals)});
        if (ranks.n)
                qsort(ranks.items, ranks.n, sizeof(ranks.items[0]), compare_ranked);
        for (size_t i = 0; i < ranks.n && i < o->n_paths; i++)
                vec_push(&c->paths, ranks.items[i].stack);
        c->n_smaller = ranks.n - c->paths.n;
        map_done(&idx_of);
        vec_free(&ranks);
        vec_free(&paths);
}

/* ---- columns --------------------------------------------------------------------------------- */

enum {
        MAX_CUT_EVENTS = 8000000,     /* read for edges that cut slices */
        MIN_CUT_COLUMNS = 24,         /* fewer are no better than slices */
        MAX_FILTER_EVENTS = 50000000, /* read for conditions on single blocks */
};

/* A short recording has few slices. There, edges cut them, so far as reading their events, for both edges of each column, takes no time
 * worth speaking of. */
static bool choose_cuts(const struct trace_view *v, size_t *n_columns) {
        uint64_t n_events_each = 2 * (v->n_events / MAX(v->n_slices, 1u) + 1);
        size_t n = MIN(*n_columns, (size_t)(MAX_CUT_EVENTS / n_events_each));

        if (v->n_dropped_events || (v->meta.flags & TRACE_IS_TOTALS) ||
            n < MIN(*n_columns, (size_t)MIN_CUT_COLUMNS) || n < v->n_slices)
                return false;
        *n_columns = n;
        return true;
}

/* Conditions on single blocks read every event up to the end of each column. */
static void choose_fewer(const struct trace_view *v, const struct query_scope *scope,
                         size_t *n_columns) {
        if (scope->filter && query_filter_needs_events(scope->filter))
                *n_columns =
                        MIN(*n_columns, (size_t)(MAX_FILTER_EVENTS / (v->n_events / 2 + 1) + 1));
}

static void add_edge(struct columns *c, uint64_t edge, uint64_t end_ns) {
        if (edge > c->edges_ns.items[c->edges_ns.n - 1] && edge < end_ns)
                vec_push(&c->edges_ns, edge);
}

/* Among them are the ends of the window that is asked about. */
static void choose_edges(struct columns *c, const struct query *q, const struct query_scope *scope,
                         size_t n_columns) {
        uint64_t end_ns = query_view(q)->end_ns, own[] = {scope->from_ns, scope->to_ns};
        size_t next = 0;
        bool cuts;

        choose_fewer(query_view(q), scope, &n_columns);
        cuts = choose_cuts(query_view(q), &n_columns);
        vec_push(&c->edges_ns, 0);
        for (size_t i = 1; i <= n_columns; i++) {
                uint64_t wanted = (uint64_t)((double)end_ns * (double)i / (double)n_columns);
                uint64_t edge = cuts || i == n_columns ? wanted : query_edge_near(q, wanted);

                for (; next < ARRAY_SIZE(own) && own[next] <= edge; next++)
                        add_edge(c, own[next], end_ns);
                add_edge(c, edge, end_ns);
        }
        vec_push(&c->edges_ns, UINT64_MAX);
        c->n_columns = c->edges_ns.n - 1;
}

/* What is live now, and what the column at hand did, of each path and of the smaller ones. */
struct row {
        struct query_figures f;
        int64_t live_bytes, live_blocks; /* at the column's begin */
};

static void add_cell(struct columns *c, struct row *r, uint32_t path, uint32_t column) {
        const struct query_figures *f = &r->f;

        if (f->n_allocs || f->n_frees || f->n_temporary || f->n_reallocs ||
            f->end_bytes != r->live_bytes || f->end_blocks != r->live_blocks ||
            f->peak_bytes != r->live_bytes || f->peak_blocks != r->live_blocks)
                vec_push(&c->cells,
                         (struct columns_cell){path, column, f->n_allocs, f->alloc_bytes,
                                               f->n_frees, f->free_bytes, f->n_temporary,
                                               f->n_reallocs, f->peak_bytes, f->peak_blocks,
                                               f->end_bytes, f->end_blocks, f->var[QUERY_CPU]});
        r->live_bytes = f->end_bytes, r->live_blocks = f->end_blocks;
        r->f = (struct query_figures){0};
}

static uint64_t path_of(const struct columns *c, const struct map *paths,
                        const struct columns_options *o, uint32_t stack) {
        uint64_t path = c->paths.n;

        map_get(paths, stack_of(o, stack), &path);
        return path;
}

static int fill_column(struct columns *c, struct query *q, size_t column, const struct map *paths,
                       const struct columns_options *o, struct row *rows, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = c->scope;
        int r;

        scope.from_ns = c->edges_ns.items[column], scope.to_ns = c->edges_ns.items[column + 1];
        r = query_ask(q, &scope, &a, reterr);
        if (r < 0)
                return r;
        vec_push(&c->totals, a->totals);
        c->is_exact = c->is_exact && a->is_exact && !a->is_moved;
        for (size_t i = 0; i < a->n_sites; i++)
                query_figures_add(&rows[path_of(c, paths, o, a->sites[i].stack)].f, &a->sites[i].f);
        for (size_t i = 0; i <= c->paths.n; i++)
                add_cell(c, &rows[i], (uint32_t)i, (uint32_t)column);
        return 0;
}

static int compare_cells(const void *a, const void *b) {
        const struct columns_cell *x = a, *y = b;

        if (x->column != y->column)
                return x->column < y->column ? -1 : 1;
        return x->path < y->path ? -1 : x->path > y->path;
}

/* Of a path, what all columns together lack, and the cell that has the most. */
struct rest {
        struct columns_cell lacking;
        size_t cell; /* SIZE_MAX: it has none */
};

static void add_to_cell(struct columns *c, const struct rest *rest) {
        struct columns_cell x = rest->lacking, *cell;

        if (!x.n_allocs && !x.alloc_bytes)
                return;
        c->is_exact = false;
        if (rest->cell == SIZE_MAX) {
                vec_push(&c->cells, x);
        } else {
                cell = &c->cells.items[rest->cell];
                cell->n_allocs += x.n_allocs, cell->alloc_bytes += x.alloc_bytes;
                cell->var += MAX(x.var, 0.0);
                x.column = cell->column;
        }
        c->totals.items[x.column].n_allocs += x.n_allocs;
        c->totals.items[x.column].alloc_bytes += x.alloc_bytes;
}

/* What lies on an edge is told in part on both of its sides, rounded down: the rest goes where most of it is. */
static void add_rest(struct columns *c, const struct query_answer *all, const struct map *paths,
                     const struct columns_options *o) {
        VEC(struct rest) rests = {0};
        size_t n_cells = c->cells.n;

        for (size_t i = 0; i <= c->paths.n; i++)
                vec_push(&rests, (struct rest){{.path = (uint32_t)i}, SIZE_MAX});
        for (size_t i = 0; i < all->n_sites; i++) {
                const struct query_figures *f = &all->sites[i].f;
                struct columns_cell *x =
                        &rests.items[path_of(c, paths, o, all->sites[i].stack)].lacking;

                x->n_allocs += f->n_allocs, x->alloc_bytes += f->alloc_bytes;
                x->var += f->var[QUERY_CPU];
        }
        for (size_t i = 0; i < n_cells; i++) {
                const struct columns_cell *x = &c->cells.items[i];
                struct rest *rest = &rests.items[x->path];

                rest->lacking.n_allocs -= x->n_allocs, rest->lacking.alloc_bytes -= x->alloc_bytes;
                rest->lacking.var -= x->var;
                if (rest->cell == SIZE_MAX ||
                    x->alloc_bytes > c->cells.items[rest->cell].alloc_bytes)
                        rest->cell = i;
        }
        for (size_t i = 0; i < rests.n; i++)
                add_to_cell(c, &rests.items[i]);
        if (c->cells.n > n_cells)
                qsort(c->cells.items, c->cells.n, sizeof(c->cells.items[0]), compare_cells);
        vec_free(&rests);
}

int columns_make(struct columns *c, struct query *q, const struct query_scope *scope,
                 const struct columns_options *o, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *all = NULL;
        struct map paths = {0};
        VEC(struct row) rows = {0};
        int r;

        *c = (struct columns){.scope = *scope, .is_exact = true};
        c->scope.from_ns = 0, c->scope.to_ns = UINT64_MAX;
        r = query_ask(q, &c->scope, &all, reterr);
        if (r < 0)
                return r;
        choose_paths(c, all, o);
        choose_edges(c, q, scope, o->n_columns);
        for (size_t i = 0; i < c->paths.n; i++) {
                *map_put(&paths, c->paths.items[i], 0, NULL) = i;
                vec_add(&rows);
        }
        vec_add(&rows); /* of the smaller ones */
        for (size_t i = 0; i < c->n_columns && r >= 0; i++)
                r = fill_column(c, q, i, &paths, o, rows.items, reterr);
        if (r >= 0 && scope->of_time)
                add_rest(c, all, &paths, o);
        map_done(&paths);
        vec_free(&rows);
        return r;
}

void columns_done(struct columns *c) {
        vec_free(&c->edges_ns);
        vec_free(&c->totals);
        vec_free(&c->paths);
        vec_free(&c->cells);
        *c = (struct columns){0};
}

/* ---- windows --------------------------------------------------------------------------------- */

size_t columns_peak(const struct columns *c, size_t from, size_t to) {
        size_t peak = from;

        for (size_t i = from; i < to; i++)
                if (c->totals.items[i].peak_bytes > c->totals.items[peak].peak_bytes)
                        peak = i;
        return peak;
}

struct query_figures columns_add_up(const struct columns *c, uint32_t path, size_t from,
                                    size_t to) {
        size_t peak = columns_peak(c, from, to);
        struct query_figures sum = {0};

        for (size_t i = 0; i < c->cells.n; i++) {
                const struct columns_cell *x = &c->cells.items[i];

                if (x->path != path || x->column >= to)
                        continue;
                if (x->column < from) {
                        sum.begin_bytes = x->end_bytes, sum.begin_blocks = x->end_blocks;
                } else {
                        sum.n_allocs += x->n_allocs;
                        sum.alloc_bytes += x->alloc_bytes;
                        sum.n_frees += x->n_frees;
                        sum.free_bytes += x->free_bytes;
                        sum.n_temporary += x->n_temporary;
                        sum.n_reallocs += x->n_reallocs;
                }
                if (x->column < peak)
                        sum.peak_bytes = x->end_bytes, sum.peak_blocks = x->end_blocks;
                else if (x->column == peak)
                        sum.peak_bytes = x->peak_bytes, sum.peak_blocks = x->peak_blocks;
                sum.end_bytes = x->end_bytes, sum.end_blocks = x->end_blocks;
        }
        return sum;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_edges(struct json *j, const struct columns *c, uint64_t end_ns) {
        json_key(j, "edges_s");
        json_array(j);
        for (size_t i = 0; i <= c->n_columns; i++)
                json_double(j, (double)MIN(c->edges_ns.items[i], end_ns) / 1e9, 9);
        json_end(j);
}

static void put_totals(struct json *j, const struct columns *c) {
        const struct query_totals *t = c->totals.items;

        json_key(j, "totals");
        json_object(j);
        JSON_PUT_EACH(j, "allocations", c->n_columns, json_uint, t[i].n_allocs);
        JSON_PUT_EACH(j, "frees", c->n_columns, json_uint, t[i].n_frees);
        JSON_PUT_EACH(j, "bytes_allocated", c->n_columns, json_uint, t[i].alloc_bytes);
        JSON_PUT_EACH(j, "temporary_allocations", c->n_columns, json_uint, t[i].n_temporary);
        JSON_PUT_EACH(j, "peak_live_bytes", c->n_columns, json_uint, t[i].peak_bytes);
        JSON_PUT_EACH(j, "peak_live_blocks", c->n_columns, json_uint, t[i].peak_blocks);
        json_key(j, "peak_at_s");
        json_array(j);
        for (size_t i = 0; i < c->n_columns; i++)
                json_double(j, (double)t[i].peak_ns / 1e9, 6);
        json_end(j);
        JSON_PUT_EACH(j, "end_live_bytes", c->n_columns, json_uint, t[i].end_bytes);
        JSON_PUT_EACH(j, "end_live_blocks", c->n_columns, json_uint, t[i].end_blocks);
        json_end(j);
}

static void put_cells(struct json *j, const struct columns *c) {
        const struct columns_cell *x = c->cells.items;

        json_key(j, "cells");
        json_object(j);
        JSON_PUT_EACH(j, "path", c->cells.n, json_uint, x[i].path);
        JSON_PUT_EACH(j, "column", c->cells.n, json_uint, x[i].column);
        JSON_PUT_EACH(j, "count", c->cells.n, json_uint, x[i].n_allocs);
        JSON_PUT_EACH(j, "allocated_bytes", c->cells.n, json_uint, x[i].alloc_bytes);
        JSON_PUT_EACH(j, "frees", c->cells.n, json_uint, x[i].n_frees);
        JSON_PUT_EACH(j, "bytes_freed", c->cells.n, json_uint, x[i].free_bytes);
        JSON_PUT_EACH(j, "temporary", c->cells.n, json_uint, x[i].n_temporary);
        JSON_PUT_EACH(j, "reallocations", c->cells.n, json_uint, x[i].n_reallocs);
        JSON_PUT_EACH(j, "peak_bytes", c->cells.n, json_int, x[i].peak_bytes);
        JSON_PUT_EACH(j, "peak_blocks", c->cells.n, json_int, x[i].peak_blocks);
        JSON_PUT_EACH(j, "end_bytes", c->cells.n, json_int, x[i].end_bytes);
        JSON_PUT_EACH(j, "end_blocks", c->cells.n, json_int, x[i].end_blocks);
        json_end(j);
}

void columns_put(struct json *j, const struct columns *c, uint64_t end_ns) {
        put_edges(j, c, end_ns);
        put_totals(j, c);
        JSON_PUT_EACH(j, "paths", c->paths.n, json_uint, c->paths.items[i]);
        json_put_uint(j, "smaller_paths", c->n_smaller);
        json_key(j, "exact");
        json_bool(j, c->is_exact);
        put_cells(j, c);
}

void columns_put_time(struct json *j, const struct columns *c) {
        const struct query_totals *t = c->totals.items;
        const struct columns_cell *x = c->cells.items;

        json_key(j, "totals");
        json_object(j);
        JSON_PUT_EACH(j, "samples", c->n_columns, json_uint, t[i].n_allocs);
        JSON_PUT_EACH(j, "time_ns", c->n_columns, json_uint, t[i].alloc_bytes);
        json_end(j);
        JSON_PUT_EACH(j, "paths", c->paths.n, json_uint, c->paths.items[i]);
        json_put_uint(j, "smaller_paths", c->n_smaller);
        json_key(j, "exact");
        json_bool(j, c->is_exact);
        json_key(j, "cells");
        json_object(j);
        JSON_PUT_EACH(j, "path", c->cells.n, json_uint, x[i].path);
        JSON_PUT_EACH(j, "column", c->cells.n, json_uint, x[i].column);
        JSON_PUT_EACH(j, "samples", c->cells.n, json_uint, x[i].n_allocs);
        JSON_PUT_EACH(j, "time_ns", c->cells.n, json_uint, x[i].alloc_bytes);
        JSON_PUT_EACH(j, "error_ns", c->cells.n, json_uint, (uint64_t)(sqrt(x[i].var) + 0.5));
        json_end(j);
}
