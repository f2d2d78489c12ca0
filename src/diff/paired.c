/* SPDX-License-Identifier: MIT */
#include "diff/paired.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "diff/altered_paths.h"
#include "diff/side_paths.h"
#include "query/spent_time.h"

/* ---- what rows say --------------------------------------------------------------------------- */

double diff_value(const struct diff *d, const struct query_figures *f, enum name_side side) {
        return (double)query_figure_of(f, d->metric).value * d->scale[side];
}

double diff_total(const struct diff *d, enum name_side side) {
        const struct query_totals *t = &d->sides[side].answer->totals;
        double v = 0;

        switch (d->metric) {
        case QUERY_PEAK: v = (double)t->peak_bytes; break;
        case QUERY_END: v = (double)t->end_bytes; break;
        case QUERY_ALLOCATED: v = (double)t->alloc_bytes; break;
        case QUERY_COUNT: v = (double)t->n_allocs; break;
        case QUERY_TEMPORARY: v = (double)t->n_temporary; break;
        case QUERY_CPU:
        case QUERY_BLOCKED: v = (double)t->alloc_bytes; break;
        case QUERY_MAPPED: v = (double)t->peak_bytes; break;
        case QUERY_GROWTH: v = (double)t->end_bytes - (double)t->begin_bytes; break;
        case QUERY_N_METRICS: break;
        }
        return v * d->scale[side];
}

double diff_total_change(const struct diff *d) {
        return diff_total(d, NAME_NEW) - diff_total(d, NAME_OLD);
}

double diff_change(const struct diff *d, const struct diff_row *row) {
        return diff_value(d, &row->f[NAME_NEW], NAME_NEW) -
               diff_value(d, &row->f[NAME_OLD], NAME_OLD);
}

enum diff_status diff_status_of(const struct diff *d, const struct diff_row *row) {
        double change = diff_change(d, row);

        if (!row->has[NAME_OLD])
                return DIFF_NEW;
        if (!row->has[NAME_NEW])
                return DIFF_GONE;
        return change > 0 ? DIFF_GROWN : change < 0 ? DIFF_SHRUNK : DIFF_SAME;
}

const char *diff_status_name(enum diff_status s) {
        static const char *const names[DIFF_N_STATUS] = {"same", "grown", "shrunk", "new", "gone"};

        return names[s];
}

static bool is_noted(const struct diff *d, double change) {
        return change != 0 && fabs(change) >= d->limit;
}

bool diff_row_is_noted(const struct diff *d, const struct diff_row *row) {
        return !row->is_chance && is_noted(d, diff_change(d, row));
}

bool diff_total_is_noted(const struct diff *d) {
        return !d->total_is_chance && is_noted(d, diff_total_change(d));
}

bool diff_is_found(const struct diff *d) {
        /* rows are sorted: the first has the largest change */
        return diff_total_is_noted(d) ||
               (d->functions.n && diff_row_is_noted(d, &d->functions.items[0])) ||
               (d->sites.n && diff_row_is_noted(d, &d->sites.items[0]));
}

enum name_side diff_told_side(const struct diff_row *row) {
        return row->has[NAME_NEW] ? NAME_NEW : NAME_OLD;
}

/* ---- call paths ------------------------------------------------------------------------------ */

static void learn_side(struct side_paths *p) {
        const struct query_answer *a = p->side->answer;

        for (size_t i = 0; i < a->n_sites; i++)
                if (!query_figures_are_idle(&a->sites[i].f))
                        side_paths_learn(p, a->sites[i].stack);
}

static void put_row(struct diff_row *row, enum name_side side, const struct query_figures *f) {
        row->has[side] = true;
        row->n_paths[side]++;
        query_figures_add(&row->f[side], f);
}

static void pair_side(struct diff *d, struct side_paths *p, struct map *by_key,
                      struct altered_paths *altered) {
        const struct query_answer *a = p->side->answer;

        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_site *site = &a->sites[i];
                struct path_keys keys;
                uint64_t *idx;
                bool added;

                if (query_figures_are_idle(&site->f))
                        continue;
                side_paths_load(p, site->stack);
                keys = path_keys_of(p);
                idx = map_put(by_key, keys.whole, d->sites.n, &added);
                if (added) {
                        vec_push(&d->sites, (struct diff_row){.class_number = keys.asker});
                        altered_paths_add_row(altered, &keys);
                }
                put_row(&d->sites.items[*idx], p->which, &site->f);
                altered_paths_add_path(altered, (uint32_t)*idx, p, site->stack,
                                       diff_value(d, &site->f, p->which));
        }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void take_stacks(struct diff_row *to, const struct diff_row *from) {
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                if (from->has[side])
                        to->stacks[side] = from->stacks[side];
}

/* Of each function that asked, its call paths together; the one that changed most stands for all, so the sites must be
 * sorted. */
static void pair_functions(struct diff *d) {
        struct map by_class = {0};
        bool added;

        for (size_t i = 0; i < d->sites.n; i++) {
                const struct diff_row *site = &d->sites.items[i];
                uint64_t *idx = map_put(&by_class, site->class_number, d->functions.n, &added);
                struct diff_row *row;

                if (added)
                        vec_push(&d->functions,
                                 (struct diff_row){.class_number = site->class_number});
                row = &d->functions.items[*idx];
                for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                        if (!site->has[side])
                                continue;
                        if (!row->has[side])
                                row->stacks[side] = site->stacks[side];
                        put_row(row, (enum name_side)side, &site->f[side]);
                }
                if (added)
                        take_stacks(row, site);
        }
        map_done(&by_class);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare(double a, double b) {
        return a > b ? -1 : a < b;
}

static int row_compare(const void *a, const void *b, void *ctx) {
        const struct diff_row *x = a, *y = b;
        const struct diff *d = ctx;
        int order = x->is_chance - y->is_chance;

        if (!order)
                order = compare(fabs(diff_change(d, x)), fabs(diff_change(d, y)));
        for (int side = NAME_NEW; side >= 0 && !order; side--)
                order = compare(fabs(diff_value(d, &x->f[side], (enum name_side)side)),
                                fabs(diff_value(d, &y->f[side], (enum name_side)side)));
        for (int side = NAME_NEW; side >= 0 && !order; side--)
                order = x->stacks[side] < y->stacks[side]   ? -1
                        : x->stacks[side] > y->stacks[side] ? 1
                                                            : 0;
        return order;
}

static void sort_rows(struct diff *d, struct diff_row *rows, size_t n) {
        if (n > 1)
                qsort_r(rows, n, sizeof(rows[0]), row_compare, d);
}

void diff_sort_rows(struct diff *d) {
        sort_rows(d, d->sites.items, d->sites.n);
        sort_rows(d, d->functions.items, d->functions.n);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void set_limit(struct diff *d) {
        const struct diff_options *o = d->options;
        double scale = MAX(d->scale[NAME_OLD], d->scale[NAME_NEW]), floor_value;
        bool counts = d->metric == QUERY_COUNT || d->metric == QUERY_TEMPORARY;

        if (o->min_change_bytes != UINT64_MAX) { /* rates are compared with rates */
                d->limit = (double)o->min_change_bytes;
                return;
        }
        floor_value = o->min_change_pct <= 0         ? 0
                      : query_metric_time(d->metric) ? DIFF_MIN_NS
                      : counts                       ? DIFF_MIN_COUNT
                                                     : DIFF_MIN_BYTES;
        d->limit = o->min_change_pct / 100 *
                   fmax(fabs(diff_total(d, NAME_OLD)), fabs(diff_total(d, NAME_NEW)));
        d->limit = fmax(d->limit, floor_value * scale);
}

void diff_pair_sides(struct diff *d) {
        struct side_paths by_side[NAME_N_SIDES];
        struct map by_key = {0};
        struct altered_paths altered = {0};

        d->match = name_match_new(d->sides[NAME_OLD].frames.names);
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                side_paths_init(&by_side[side], &d->sides[side], d->match, (enum name_side)side,
                                d->sides[NAME_OLD].q == d->sides[NAME_NEW].q);
                learn_side(&by_side[side]);
        }
        name_match_solve(d->match);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                pair_side(d, &by_side[side], &by_key, &altered);
        altered_paths_join(&altered, d, by_side, &by_key);
        altered_paths_number_rows(&altered, d);
        altered_paths_choose_stacks(&altered, d);
        sort_rows(d, d->sites.items, d->sites.n);
        pair_functions(d);
        sort_rows(d, d->functions.items, d->functions.n);
        set_limit(d);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                side_paths_done(&by_side[side]);
        altered_paths_done(&altered);
        map_done(&by_key);
}

void diff_unpair(struct diff *d) {
        vec_free(&d->sites);
        vec_free(&d->functions);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                map_done(&d->row_of[side]);
        name_match_free(d->match);
        d->match = NULL;
}
