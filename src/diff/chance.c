/* SPDX-License-Identifier: MIT */
#include "diff/chance.h"

#include <math.h>

#include "query/spent_time.h"

enum {
        FLUTTER_WORK_PCT = 1,  /* by which allocations and bytes of the same work may differ */
        FLUTTER_COLUMNS = 40,  /* moments looked at */
        FLUTTER_GROUPS = 2000, /* call paths whose history is read: the largest */
        FLUTTER_EVENTS = 4000000,
        FLUTTER_LEVEL_JITTERS = 4, /* about seven standard errors of the difference of two means */
        CHANCE_SIGMAS = 3,         /* standard errors of samples of time */
        FLUTTER_JITTERS = 20, /* peaks are of rare moments, so their parts are far from the mean */
};

/* What a row held at each moment. */
struct slot {
        double live_bytes[NAME_N_SIDES][FLUTTER_COLUMNS];
};

struct chances {
        struct diff *d;
        VEC(struct slot) slots; /* the first is that of all together */
        struct map sites;       /* id of a row → slot */
        struct map functions;   /* class → slot */
        VEC(uint32_t) classes;  /* of sites, by id */
};

/* ---- which rows ------------------------------------------------------------------------------ */

static bool is_like(uint64_t a, uint64_t b) {
        return fabs((double)a - (double)b) * 100 <= (double)MAX(a, b) * FLUTTER_WORK_PCT;
}

static bool is_same_work(const struct query_figures *a, const struct query_figures *b) {
        return is_like(a->n_allocs, b->n_allocs) && is_like(a->alloc_bytes, b->alloc_bytes);
}

static bool may_be_chance(const struct diff *d, const struct diff_row *row) {
        return diff_row_is_noted(d, row) && row->has[NAME_OLD] && row->has[NAME_NEW] &&
               is_same_work(&row->f[NAME_OLD], &row->f[NAME_NEW]);
}

static bool total_may_be_chance(const struct diff *d) {
        const struct query_totals *a = &d->sides[NAME_OLD].answer->totals,
                                  *b = &d->sides[NAME_NEW].answer->totals;

        return diff_total_is_noted(d) && is_like(a->n_allocs, b->n_allocs) &&
               is_like(a->alloc_bytes, b->alloc_bytes);
}

static void add_slot(struct chances *f, struct map *to, uint64_t key) {
        bool added;

        map_put(to, key, f->slots.n, &added);
        vec_add(&f->slots);
}

/* Returns whether there is anything to find out. */
static bool choose_rows(struct chances *f) {
        const struct diff *d = f->d;

        vec_add(&f->slots);
        for (size_t i = 0; i < d->sites.n; i++) {
                const struct diff_row *row = &d->sites.items[i];

                while (f->classes.n <= row->id)
                        vec_push(&f->classes, PAIR_NO_CLASS);
                f->classes.items[row->id] = row->class_number;
                if (may_be_chance(d, row))
                        add_slot(f, &f->sites, row->id);
        }
        for (size_t i = 0; i < d->functions.n; i++)
                if (may_be_chance(d, &d->functions.items[i]))
                        add_slot(f, &f->functions, d->functions.items[i].class_number);
        return f->slots.n > 1 || total_may_be_chance(d);
}

/* ---- their history --------------------------------------------------------------------------- */

static void add_group(struct chances *f, unsigned side, const struct map *slots, uint64_t key,
                      const int64_t *live_bytes, size_t n) {
        uint64_t slot;

        if (!map_get(slots, key, &slot))
                return;
        for (size_t i = 0; i < n && i < FLUTTER_COLUMNS; i++)
                f->slots.items[slot].live_bytes[side][i] += (double)live_bytes[i];
}

static int read_side(struct chances *f, unsigned side, struct err *reterr) {
        const struct query_group_options by = {.by = QUERY_BY_SITE, .metric = f->d->metric};
        const struct diff_side *s = &f->d->sides[side];
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        int r = query_history(s->q, &s->answer->scope, &by, FLUTTER_GROUPS, FLUTTER_COLUMNS,
                              FLUTTER_EVENTS, &h, reterr);

        if (r < 0)
                return r;
        for (size_t g = 0; g <= h->n_groups; g++) {
                const int64_t *live_bytes = &h->live_bytes[g * h->n_columns];
                uint64_t id;

                for (size_t i = 0; i < h->n_columns && i < FLUTTER_COLUMNS; i++)
                        f->slots.items[0].live_bytes[side][i] += (double)live_bytes[i];
                if (g == h->n_groups ||
                    !map_get(&f->d->row_of[side], h->groups->rows[g].stack, &id))
                        continue;
                add_group(f, side, &f->sites, id, live_bytes, h->n_columns);
                add_group(f, side, &f->functions, f->classes.items[id], live_bytes, h->n_columns);
        }
        return 0;
}

/* ---- what is chance -------------------------------------------------------------------------- */

/* How far a value goes to and fro between moments, on the mean: what rises and falls once has none of it, however
 * far that is. Of values that are drawn at random it is about half their standard deviation. */
static double jitter(const double *v) {
        double sum = 0;

        for (size_t i = 2; i < FLUTTER_COLUMNS; i++) {
                double a = v[i - 1] - v[i - 2], b = v[i] - v[i - 1];

                if (a * b < 0)
                        sum += fmin(fabs(a), fabs(b));
        }
        return sum / (FLUTTER_COLUMNS - 2);
}

/* What is held behind the start-up and before the end. */
static double level(const double *v) {
        const size_t begin = FLUTTER_COLUMNS / 3, end = FLUTTER_COLUMNS - 2;
        double sum = 0;

        for (size_t i = begin; i < end; i++)
                sum += v[i];
        return sum / (double)(end - begin);
}

/* The peaks are within what chance makes of them, and so are the levels, which know much better: they are means. */
static bool is_within_swing(const struct slot *s, double change) {
        const double *old = s->live_bytes[NAME_OLD], *new = s->live_bytes[NAME_NEW];
        double least = fmin(jitter(old), jitter(new));

        return fabs(change) <= FLUTTER_JITTERS * least &&
               fabs(level(new) - level(old)) <= FLUTTER_LEVEL_JITTERS * least;
}

static void judge(struct chances *f) {
        struct diff *d = f->d;
        uint64_t slot;

        for (size_t i = 0; i < d->sites.n; i++)
                if (map_get(&f->sites, d->sites.items[i].id, &slot))
                        d->sites.items[i].is_chance =
                                is_within_swing(&f->slots.items[slot],
                                                diff_change(d, &d->sites.items[i]));
        for (size_t i = 0; i < d->functions.n; i++)
                if (map_get(&f->functions, d->functions.items[i].class_number, &slot))
                        d->functions.items[i].is_chance =
                                is_within_swing(&f->slots.items[slot],
                                                diff_change(d, &d->functions.items[i]));
        d->total_is_chance =
                total_may_be_chance(d) && is_within_swing(&f->slots.items[0], diff_total_change(d));
        diff_sort_rows(d);
}

/* Samples of time: what so many of them say is no surer than its standard error on each side. */
static bool is_sampling_error(const struct diff *d, const double *var, double change) {
        double old = var[NAME_OLD] * d->scale[NAME_OLD] * d->scale[NAME_OLD],
               new = var[NAME_NEW] * d->scale[NAME_NEW] * d->scale[NAME_NEW];

        return fabs(change) <= CHANCE_SIGMAS * sqrt(old + new);
}

static void judge_row(const struct diff *d, struct diff_row *row) {
        const double var[NAME_N_SIDES] = {row->f[NAME_OLD].var[d->metric],
                                          row->f[NAME_NEW].var[d->metric]};

        row->is_chance = is_sampling_error(d, var, diff_change(d, row));
}

/* The clock of a thread goes on where it stopped: of all the time together each thread has at most a period too much or too little. What a
 * filter selects is a share, as of a row. */
static double total_var(const struct diff *d, enum name_side side) {
        const struct diff_side *s = &d->sides[side];
        const struct query_totals *t = &s->answer->totals;
        double period_ns;

        if (d->metric != QUERY_CPU || t->n_allocs == 0 ||
            !query_filter_is_empty(diff_request(d->options)->filter))
                return t->var[d->metric];
        period_ns = (double)t->alloc_bytes / (double)t->n_allocs;
        return fmin(t->var[d->metric], period_ns * period_ns * (double)s->v->n_threads);
}

static void judge_time(struct diff *d) {
        const double var[NAME_N_SIDES] = {total_var(d, NAME_OLD), total_var(d, NAME_NEW)};

        for (size_t i = 0; i < d->sites.n; i++)
                judge_row(d, &d->sites.items[i]);
        for (size_t i = 0; i < d->functions.n; i++)
                judge_row(d, &d->functions.items[i]);
        d->total_is_chance = is_sampling_error(d, var, diff_total_change(d));
        diff_sort_rows(d);
}

int chance_find(struct diff *d, struct err *reterr) {
        struct chances f = {.d = d};
        int r = 0;

        if (query_metric_time(d->metric)) {
                judge_time(d);
                return 0;
        }
        if ((d->metric != QUERY_PEAK && d->metric != QUERY_END) ||
            query_filter_needs_events(diff_request(d->options)->filter))
                return 0;
        if (choose_rows(&f)) {
                for (unsigned side = 0; side < NAME_N_SIDES && r >= 0; side++)
                        r = read_side(&f, side, reterr);
                if (r >= 0)
                        judge(&f);
        }
        vec_free(&f.slots);
        vec_free(&f.classes);
        map_done(&f.sites);
        map_done(&f.functions);
        return r;
}
