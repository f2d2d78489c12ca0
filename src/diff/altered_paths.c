/* SPDX-License-Identifier: MIT */
#include "diff/altered_paths.h"

#include <math.h>
#include <string.h>

#include "query/spent_time.h"

enum {
        SEAM_TOLERANCE_PCT = 2, /* by which amounts of one path may differ */
        SEAM_MAX_ROWS = 256,    /* of one function on one side that are tried with each other */
};

/* ---- keys ------------------------------------------------------------------------------------ */

struct path_keys path_keys_of(const struct side_paths *p) {
        struct path_keys k = {.whole = 1, .common = 1, .asker = PAIR_NO_CLASS};
        uint32_t last = PAIR_NO_CLASS, last_common = PAIR_NO_CLASS;

        for (size_t i = 0; i < p->numbers.n; i++) {
                uint32_t c = name_match_class(p->match, p->numbers.items[i]);

                if (i == 0)
                        k.asker = c;
                if (c != last)
                        k.whole = map_hash(k.whole * 31 + c + 1);
                if (c != last_common && name_match_is_common(p->match, c)) {
                        k.common = map_hash(k.common * 31 + c + 1);
                        last_common = c;
                }
                last = c;
        }
        return k;
}

void altered_paths_add_row(struct altered_paths *s, const struct path_keys *keys) {
        vec_push(&s->joined, (uint32_t)s->keys.n);
        vec_push(&s->keys, *keys);
}

void altered_paths_add_path(struct altered_paths *s, uint32_t row, const struct side_paths *p,
                            uint32_t stack, double value) {
        vec_push(&s->paths, (struct altered_path){.row = row,
                                                  .line = p->line,
                                                  .stack = stack,
                                                  .side = (uint8_t)p->which,
                                                  .value = value});
}

void altered_paths_done(struct altered_paths *s) {
        vec_free(&s->keys);
        vec_free(&s->paths);
        vec_free(&s->joined);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                vec_free(&s->buffers[side]);
}

/* ---- amounts --------------------------------------------------------------------------------- */

/* What a row would have to get on a side to be the same on both. */
static bool is_like(double a, double b) {
        return fabs(a - b) <= SEAM_TOLERANCE_PCT / 100.0 * fmax(fabs(a), fabs(b)) + 0.5;
}

static bool are_like(const struct query_figures *a, const struct query_figures *b) {
        return is_like((double)a->n_allocs, (double)b->n_allocs) &&
               is_like((double)a->alloc_bytes, (double)b->alloc_bytes);
}

/* Whether a is no more than b. */
static bool is_within(double a, double b) {
        return a <= b || is_like(a, b);
}

/* Whether the row has on its other side more than here, by `more` at least. */
static bool fits_gap(const struct diff_row *row, unsigned side, const struct query_figures *more) {
        const struct query_figures *here = &row->f[side], *there = &row->f[!side];

        return more->n_allocs && there->n_allocs > here->n_allocs &&
               there->alloc_bytes >= here->alloc_bytes &&
               is_within((double)more->n_allocs, (double)(there->n_allocs - here->n_allocs)) &&
               is_within((double)more->alloc_bytes,
                         (double)(there->alloc_bytes - here->alloc_bytes));
}

static bool is_alone(const struct diff_row *row) {
        return row->has[NAME_OLD] != row->has[NAME_NEW];
}

static void join(struct altered_paths *s, struct diff *d, uint32_t from, uint32_t to) {
        struct diff_row *x = &d->sites.items[from], *y = &d->sites.items[to];

        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                y->has[side] |= x->has[side];
                y->n_paths[side] += x->n_paths[side];
                query_figures_add(&y->f[side], &x->f[side]);
        }
        *x = (struct diff_row){.class_number = x->class_number};
        s->joined.items[from] = to;
}

/* ---- functions that only one side has -------------------------------------------------------- */

/* Where a row would go without the functions that only its side has; UINT32_MAX: nowhere. */
static uint32_t common_row(const struct altered_paths *s, const struct diff *d,
                           const struct map *by_key, uint32_t row) {
        const struct path_keys *k = &s->keys.items[row];
        uint64_t to;

        if (!is_alone(&d->sites.items[row]) || k->whole == k->common ||
            !map_get(by_key, k->common, &to) || to == row)
                return UINT32_MAX;
        if (query_metric_time(d->metric) && d->sites.items[to].class_number != k->asker)
                return UINT32_MAX; /* time has no count that would show it to be the same work */
        return (uint32_t)to;
}

struct gap {
        uint32_t row;
        uint8_t side;
        struct query_figures sum; /* of the rows that may fill it */
};

/* Several helpers may have gone into one function, so all of them are tried together first. */
static void join_common(struct altered_paths *s, struct diff *d, const struct map *by_key) {
        VEC(struct gap) gaps = {0};
        struct map by_row = {0};
        size_t n = d->sites.n;
        uint64_t *idx;
        uint32_t to;
        bool added;

        for (uint32_t i = 0; i < n; i++) {
                unsigned side = d->sites.items[i].has[NAME_NEW];

                if ((to = common_row(s, d, by_key, i)) == UINT32_MAX)
                        continue;
                idx = map_put(&by_row, (uint64_t)to << 1 | side, gaps.n, &added);
                if (added)
                        vec_push(&gaps, (struct gap){.row = to, .side = (uint8_t)side});
                query_figures_add(&gaps.items[*idx].sum, &d->sites.items[i].f[side]);
        }
        for (size_t i = 0; i < gaps.n; i++)
                if (!fits_gap(&d->sites.items[gaps.items[i].row], gaps.items[i].side,
                              &gaps.items[i].sum))
                        gaps.items[i].row = UINT32_MAX;
        for (uint32_t i = 0; i < n && gaps.n; i++) {
                unsigned side = d->sites.items[i].has[NAME_NEW];
                uint64_t gap;

                if ((to = common_row(s, d, by_key, i)) == UINT32_MAX ||
                    !map_get(&by_row, (uint64_t)to << 1 | side, &gap))
                        continue;
                if (gaps.items[gap].row == to ||
                    fits_gap(&d->sites.items[to], side, &d->sites.items[i].f[side]))
                        join(s, d, i, to);
        }
        vec_free(&gaps);
        map_done(&by_row);
}

/* ---- frames that are missing from a path ----------------------------------------------------- */

static void load_classes(struct altered_paths *s, struct side_paths *p, uint32_t stack) {
        uint32_t last = PAIR_NO_CLASS;

        vec_clear(&s->buffers[p->which]);
        side_paths_load(p, stack);
        for (size_t i = 0; i < p->numbers.n; i++) {
                uint32_t c = name_match_class(p->match, p->numbers.items[i]);

                if (c != last)
                        vec_push(&s->buffers[p->which], c);
                last = c;
        }
}

/* Whether one of the two loaded is the other with frames left out. */
static bool is_gappy(const struct altered_paths *s) {
        const uint32_t *a = s->buffers[0].items, *b = s->buffers[1].items;
        size_t n = s->buffers[0].n, m = s->buffers[1].n, k = 0;

        if (n > m) {
                const uint32_t *swap = a;
                size_t swap_n = n;

                a = b, n = m;
                b = swap, m = swap_n;
        }
        for (size_t i = 0; i < m && k < n; i++)
                k += a[k] == b[i];
        return k == n;
}

/* Rows of one side alone, by the function that asked. */
struct lonely {
        uint32_t asker, row, stack;
        uint8_t side;
};

static int lonely_compare(const void *a, const void *b) {
        const struct lonely *x = a, *y = b;

        if (x->asker != y->asker)
                return x->asker < y->asker ? -1 : 1;
        if (x->side != y->side)
                return x->side < y->side ? -1 : 1;
        return x->row < y->row ? -1 : x->row > y->row;
}

static bool is_candidate(struct altered_paths *s, struct diff *d, struct side_paths *by_side,
                         const struct lonely *old, const struct lonely *new) {
        if (!are_like(&d->sites.items[old->row].f[NAME_OLD], &d->sites.items[new->row].f[NAME_NEW]))
                return false;
        load_classes(s, &by_side[NAME_OLD], old->stack);
        load_classes(s, &by_side[NAME_NEW], new->stack);
        return is_gappy(s);
}

enum { SEAM_NONE = UINT32_MAX, SEAM_SEVERAL = UINT32_MAX - 1 };

/* Of the rows of one function, [begin, middle) old and [middle, end) new ones, those that can only be each other. */
static void join_lonely(struct altered_paths *s, struct diff *d, struct side_paths *by_side,
                        const struct lonely *begin, const struct lonely *middle,
                        const struct lonely *end) {
        size_t n_old = MIN((size_t)(middle - begin), (size_t)SEAM_MAX_ROWS);
        size_t n_new = MIN((size_t)(end - middle), (size_t)SEAM_MAX_ROWS);
        uint32_t match_of_old[SEAM_MAX_ROWS], match_of_new[SEAM_MAX_ROWS];

        memset(match_of_old, 0xff, sizeof(match_of_old));
        memset(match_of_new, 0xff, sizeof(match_of_new));
        for (uint32_t i = 0; i < n_old; i++)
                for (uint32_t k = 0; k < n_new; k++) {
                        if (!is_candidate(s, d, by_side, &begin[i], &middle[k]))
                                continue;
                        match_of_old[i] = match_of_old[i] == SEAM_NONE ? k : SEAM_SEVERAL;
                        match_of_new[k] = match_of_new[k] == SEAM_NONE ? i : SEAM_SEVERAL;
                }
        for (uint32_t i = 0; i < n_old; i++)
                if (match_of_old[i] < n_new && match_of_new[match_of_old[i]] == i)
                        join(s, d, begin[i].row, middle[match_of_old[i]].row);
}

static void join_gappy(struct altered_paths *s, struct diff *d, struct side_paths *by_side) {
        VEC(struct lonely) rows = {0};
        VEC(bool) is_listed = {0};

        for (size_t i = 0; i < d->sites.n; i++)
                vec_push(&is_listed, false);
        for (size_t i = 0; i < s->paths.n; i++) {
                const struct altered_path *p = &s->paths.items[i];
                const struct diff_row *row = &d->sites.items[p->row];

                if (is_listed.items[p->row] || !is_alone(row) || row->class_number == PAIR_NO_CLASS)
                        continue;
                is_listed.items[p->row] = true;
                vec_push(&rows,
                         (struct lonely){row->class_number, p->row, p->stack, (uint8_t)p->side});
        }
        if (rows.n > 1)
                qsort(rows.items, rows.n, sizeof(rows.items[0]), lonely_compare);
        for (size_t begin = 0, end; begin < rows.n; begin = end) {
                size_t middle = begin;

                for (end = begin; end < rows.n && rows.items[end].asker == rows.items[begin].asker;
                     end++)
                        middle += rows.items[end].side == NAME_OLD;
                join_lonely(s, d, by_side, rows.items + begin, rows.items + middle,
                            rows.items + end);
        }
        vec_free(&rows);
        vec_free(&is_listed);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static uint32_t joined_row(const struct altered_paths *s, uint32_t row) {
        while (s->joined.items[row] != row)
                row = s->joined.items[row];
        return row;
}

/* Rows that went into others leave no gaps. */
static void drop_joined(struct altered_paths *s, struct diff *d) {
        VEC(uint32_t) place = {0};
        size_t n = 0;

        for (uint32_t i = 0; i < d->sites.n; i++) {
                vec_push(&place, (uint32_t)n);
                if (s->joined.items[i] == i)
                        d->sites.items[n++] = d->sites.items[i];
        }
        for (size_t i = 0; i < s->paths.n; i++)
                s->paths.items[i].row = place.items[joined_row(s, s->paths.items[i].row)];
        d->sites.n = n;
        vec_free(&place);
}

void altered_paths_join(struct altered_paths *s, struct diff *d, struct side_paths *by_side,
                        const struct map *by_key) {
        if (!d->options->is_strict) {
                join_common(s, d, by_key);
                join_gappy(s, d, by_side);
        }
        drop_joined(s, d);
}

void altered_paths_number_rows(const struct altered_paths *s, struct diff *d) {
        bool added;

        for (size_t i = 0; i < d->sites.n; i++)
                d->sites.items[i].id = (uint32_t)i;
        for (size_t i = 0; i < s->paths.n; i++)
                map_put(&d->row_of[s->paths.items[i].side], s->paths.items[i].stack,
                        s->paths.items[i].row, &added);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int path_compare(const void *a, const void *b) {
        const struct altered_path *x = a, *y = b;

        if (x->row != y->row)
                return x->row < y->row ? -1 : 1;
        if (x->side != y->side)
                return x->side < y->side ? -1 : 1;
        if (x->line != y->line)
                return x->line < y->line ? -1 : 1;
        if (x->value != y->value)
                return x->value > y->value ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Makes one path of each line: the largest, with the sum. Returns how many there are. */
static size_t sum_lines(struct altered_path *paths, size_t n) {
        size_t n_lines = 0;

        for (size_t i = 0; i < n; i++) {
                if (n_lines && paths[n_lines - 1].line == paths[i].line)
                        paths[n_lines - 1].value += paths[i].value;
                else
                        paths[n_lines++] = paths[i];
        }
        return n_lines;
}

static uint32_t largest(const struct altered_path *paths, size_t n) {
        size_t best = 0;

        for (size_t i = 1; i < n; i++)
                if (fabs(paths[i].value) > fabs(paths[best].value))
                        best = i;
        return n ? paths[best].stack : 0;
}

/* Lines move, but they keep their order: the first with the first, and so on, where there are as many. */
static void choose(struct diff_row *row, struct altered_path *old, size_t n_old,
                   struct altered_path *new, size_t n_new) {
        size_t best = 0;

        n_old = sum_lines(old, n_old);
        n_new = sum_lines(new, n_new);
        if (n_old != n_new) {
                row->stacks[NAME_OLD] = largest(old, n_old);
                row->stacks[NAME_NEW] = largest(new, n_new);
                return;
        }
        for (size_t i = 1; i < n_old; i++)
                if (fabs(new[i].value - old[i].value) > fabs(new[best].value - old[best].value))
                        best = i;
        row->stacks[NAME_OLD] = old[best].stack;
        row->stacks[NAME_NEW] = new[best].stack;
}

void altered_paths_choose_stacks(struct altered_paths *s, struct diff *d) {
        struct altered_path *p = s->paths.items;
        size_t n = s->paths.n;

        if (n > 1)
                qsort(p, n, sizeof(p[0]), path_compare);
        for (size_t begin = 0, end; begin < n; begin = end) {
                size_t middle = begin;

                for (end = begin; end < n && p[end].row == p[begin].row; end++)
                        middle += p[end].side == NAME_OLD;
                choose(&d->sites.items[p[begin].row], p + begin, middle - begin, p + middle,
                       end - middle);
        }
}
