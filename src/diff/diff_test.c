/* SPDX-License-Identifier: MIT */
/* Random pairs of traces against a plain comparison of texts, and against what must hold of any difference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diff/paired.h"
#include "name/stable.h"
#include "query/testing/fabric.h"
#include "request/testing/request_made.h"
#include "show/frame.h"

#define OLD_PATH "diff_test_old.silt"
#define NEW_PATH "diff_test_new.silt"

static uint64_t random_state = 7;

static uint64_t draw(uint64_t below) {
        random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
        return (random_state >> 33) % below;
}

static void make_trace(const char *path, uint64_t seed) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 3 + (unsigned)draw(60),
                                   .slice_events = 20 + (unsigned)draw(100),
                                   .max_processes = 1 + (unsigned)draw(3),
                                   .max_threads = 3,
                                   .checkpoint_every = (unsigned)draw(4),
                                   .max_step_us = 40,
                                   .with_paths = true};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, (unsigned)draw(1500));
        fabric_end(f);
}

static struct request requests[NAME_N_SIDES];

/* They point to requests, which the next call changes. */
static struct diff_options draw_options(const char *old, const char *new) {
        const char *const paths[NAME_N_SIDES] = {[NAME_OLD] = old, [NAME_NEW] = new};
        enum query_metric metric = (enum query_metric)draw(QUERY_CPU);
        bool is_full = draw(2), is_of_all = draw(3) == 0, is_windowed = true;
        struct diff_options o = DIFF_OPTIONS_DEFAULT;

        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                struct request *r = &requests[side];

                request_done(r);
                r->has_metric = true;
                r->metric = metric;
                r->full = is_full;
                if (is_of_all)
                        request_ask(r, "process=all");
                is_windowed = is_windowed && draw(3) == 0;
                if (is_windowed)
                        request_set_time(&r->to, 1000 * (1 + draw(20000)));
                o.sources[side] = (struct diff_source){paths[side], r};
        }
        return o;
}

static void gather(struct diff *d, const struct diff_options *o) {
        struct err err = {0};

        if (diff_gather(d, o, &err) < 0)
                fail_msg("%s", err.text);
}

/* ---- the plain comparison -------------------------------------------------------------------- */

enum { N_LEVELS = 7, BARE_LEVEL = 4 };

struct plain_function {
        enum name_side side;
        bool is_bare;
        char *levels[N_LEVELS]; /* "" none */
        size_t class_number;
};

struct plain_row {
        size_t path[64], n;
        struct query_figures f[NAME_N_SIDES];
        bool has[NAME_N_SIDES];
};

struct plain {
        VEC(struct plain_function) functions;
        size_t n_classes;
        VEC(struct plain_row) sites, by_function;
};

static char *text_of(struct str *s) {
        char *copy = strdup(str_text(s));

        str_done(s);
        return copy;
}

static void set_levels(struct names *names, const struct name_frame *f, const char *exe,
                       uint64_t build, struct plain_function *to) {
        struct str module = {0}, name = {0}, level[N_LEVELS] = {0};
        const char *last;

        if (strcmp(exe, f->module) == 0 && exe[0])
                str_add(&module, "//program");
        else
                stable_add_module(&module, f->module);
        if (!f->function[0] || f->guess) {
                str_addf(&level[0], "place %s %llu %llu", str_text(&module),
                         (unsigned long long)build, (unsigned long long)f->offset);
                str_addf(&level[3], "module %s", str_text(&module));
        } else {
                stable_add_function(&name, f->function);
                str_addf(&level[0], "0 %s|%s|%s", str_text(&name),
                         f->file[0] ? frame_base(f->file) : "", str_text(&module));
                str_addf(&level[1], "1 %s|%s", str_text(&name), str_text(&module));
                str_add(&level[2], "2 ");
                stable_add_function(&level[2], name_short(names, f->function));
                str_addf(&level[2], "|%s", str_text(&module));
                str_add(&level[3], "3 ");
                stable_add_function(&level[3], name_plain(names, f->function));
                str_add(&level[6], str_text(&level[3]));
                last = strrchr(str_text(&level[6]), ':');
                str_addf(&level[BARE_LEVEL], "%s|%s", last ? last + 1 : str_text(&level[6]) + 2,
                         str_text(&module));
                str_addf(&level[3], "|%s", str_text(&module));
                str_addf(&level[5], "5 %s", str_text(&name));
                to->is_bare = !strpbrk(str_text(&name), ":(");
        }
        for (unsigned i = 0; i < N_LEVELS; i++)
                to->levels[i] = text_of(&level[i]);
        str_done(&module);
        str_done(&name);
}

static uint64_t build_of(const struct trace_view *v, const char *module) {
        (void)v;
        (void)module;
        return 0; /* the fabric's modules have no build-id */
}

static size_t plain_function(struct plain *p, struct diff_side *s, enum name_side side,
                             const struct name_frame *f) {
        struct plain_function x = {.side = side};

        set_levels(s->frames.names, f, side_process(s)->start.exe, build_of(s->v, f->module), &x);
        for (size_t i = 0; i < p->functions.n; i++)
                if (p->functions.items[i].side == side &&
                    strcmp(p->functions.items[i].levels[0], x.levels[0]) == 0) {
                        for (unsigned k = 0; k < N_LEVELS; k++)
                                free(x.levels[k]);
                        return i;
                }
        x.class_number = SIZE_MAX;
        vec_push(&p->functions, x);
        return p->functions.n - 1;
}

static void plain_solve_level(struct plain *p, unsigned level) {
        size_t first = p->n_classes;
        VEC(size_t) open = {0}; /* those that had no class when the level began */

        (void)first;
        for (size_t i = 0; i < p->functions.n; i++)
                if (p->functions.items[i].class_number == SIZE_MAX &&
                    p->functions.items[i].levels[level][0])
                        vec_push(&open, i);
        for (size_t i = 0; i < open.n; i++) {
                struct plain_function *x = &p->functions.items[open.items[i]];
                bool has_other = false, is_mixed = false;

                if (x->class_number != SIZE_MAX)
                        continue;
                for (size_t k = 0; k < open.n; k++) {
                        struct plain_function *y = &p->functions.items[open.items[k]];

                        has_other |= y->side != x->side &&
                                     strcmp(x->levels[level], y->levels[level]) == 0;
                        is_mixed |= y->is_bare != x->is_bare &&
                                    strcmp(x->levels[level], y->levels[level]) == 0;
                }
                has_other &= level != BARE_LEVEL || is_mixed;
                for (size_t k = 0; k < open.n && has_other; k++) {
                        struct plain_function *y = &p->functions.items[open.items[k]];

                        if (strcmp(x->levels[level], y->levels[level]) == 0)
                                y->class_number = p->n_classes;
                }
                p->n_classes += has_other;
        }
        vec_free(&open);
}

struct plain_path {
        size_t functions[64], n;
};

static struct plain_path path_of(struct plain *p, struct diff_side *s, enum name_side side,
                                 uint32_t stack) {
        struct frame_stack x = {0};
        struct plain_path path = {0};

        frame_stack_fill(&x, &s->frames, stack, false);
        for (size_t i = 0; i < x.frames.n; i++) /* those that are not shown take part too */
                plain_function(p, s, side, &x.frames.items[i]);
        for (size_t i = 0; i < x.shown.n; i++) {
                assert_true(path.n < ARRAY_SIZE(path.functions));
                path.functions[path.n++] =
                        plain_function(p, s, side, &x.frames.items[x.shown.items[i].frame_idx]);
        }
        frame_stack_done(&x);
        return path;
}

static void plain_add(struct query_figures *to, const struct query_figures *f) {
        uint64_t *a = (uint64_t *)to;
        const uint64_t *b = (const uint64_t *)f;

        for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
                a[i] += b[i];
}

/* Puts figures where the path of classes is; n 1: by its function. */
static void plain_put(struct plain_row *rows, size_t *n_rows, const size_t *path, size_t n,
                      enum name_side side, const struct query_figures *f) {
        size_t i = 0;

        while (i < *n_rows &&
               !(rows[i].n == n && memcmp(rows[i].path, path, n * sizeof(path[0])) == 0))
                i++;
        if (i == *n_rows) {
                rows[i] = (struct plain_row){.n = n};
                memcpy(rows[i].path, path, n * sizeof(path[0]));
                ++*n_rows;
        }
        rows[i].has[side] = true;
        plain_add(&rows[i].f[side], f);
}

static void plain_make(struct plain *p, struct diff *d) {
        size_t n = d->sides[0].answer->n_sites + d->sides[1].answer->n_sites, at = 0;
        struct plain_path *paths = calloc(n + 1, sizeof(paths[0]));

        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                for (size_t i = 0; i < d->sides[side].answer->n_sites; i++)
                        if (!query_figures_are_idle(&d->sides[side].answer->sites[i].f))
                                paths[at++] = path_of(p, &d->sides[side], (enum name_side)side,
                                                      d->sides[side].answer->sites[i].stack);
        for (unsigned level = 0; level < N_LEVELS; level++)
                plain_solve_level(p, level);
        for (size_t i = 0; i < p->functions.n; i++)
                if (p->functions.items[i].class_number == SIZE_MAX)
                        p->functions.items[i].class_number = p->n_classes++;
        vec_reserve(&p->sites, n + 1);
        vec_reserve(&p->by_function, n + 1);
        at = 0;
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                for (size_t i = 0; i < d->sides[side].answer->n_sites; i++) {
                        const struct query_site *site = &d->sides[side].answer->sites[i];
                        size_t classes[64], n_classes = 0;

                        if (query_figures_are_idle(&site->f))
                                continue;
                        for (size_t k = 0; k < paths[at].n; k++) {
                                size_t c = p->functions.items[paths[at].functions[k]].class_number;

                                if (n_classes == 0 || classes[n_classes - 1] != c)
                                        classes[n_classes++] = c;
                        }
                        plain_put(p->sites.items, &p->sites.n, classes, n_classes,
                                  (enum name_side)side, &site->f);
                        plain_put(p->by_function.items, &p->by_function.n, classes,
                                  MIN(n_classes, (size_t)1), (enum name_side)side, &site->f);
                        at++;
                }
        free(paths);
}

static void plain_done(struct plain *p) {
        for (size_t i = 0; i < p->functions.n; i++)
                for (unsigned k = 0; k < N_LEVELS; k++)
                        free(p->functions.items[i].levels[k]);
        vec_free(&p->functions);
        vec_free(&p->sites);
        vec_free(&p->by_function);
}

/* Every row of one list is in the other: by all its figures, as names were compared above. */
static void check_rows(const struct diff_row *rows, size_t n, const struct plain_row *plain,
                       size_t n_plain) {
        bool *is_taken = calloc(n_plain + 1, sizeof(is_taken[0]));

        assert_int_equal(n, n_plain);
        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                while (k < n_plain &&
                       (is_taken[k] || memcmp(rows[i].f, plain[k].f, sizeof(rows[i].f)) != 0 ||
                        memcmp(rows[i].has, plain[k].has, sizeof(rows[i].has)) != 0))
                        k++;
                assert_true(k < n_plain);
                is_taken[k] = true;
        }
        free(is_taken);
}

static void test_random(void **state) {
        (void)state;
        for (unsigned round = 0; round < 60; round++) {
                struct diff_options o;
                struct plain p = {0};
                struct diff d;

                make_trace(OLD_PATH, 100 + round);
                make_trace(NEW_PATH, draw(2) ? 100 + round : 500 + round);
                for (unsigned i = 0; i < 4; i++) {
                        o = draw_options(OLD_PATH, NEW_PATH);
                        o.is_strict = true;
                        gather(&d, &o);
                        plain_make(&p, &d);
                        check_rows(d.sites.items, d.sites.n, p.sites.items, p.sites.n);
                        check_rows(d.functions.items, d.functions.n, p.by_function.items,
                                   p.by_function.n);
                        plain_done(&p);
                        p = (struct plain){0};
                        diff_done(&d);
                }
        }
}

/* ---- what must hold -------------------------------------------------------------------------- */

static double sum_changes(const struct diff *d, const struct diff_row *rows, size_t n) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += diff_change(d, &rows[i]);
        return sum;
}

static void check_sums(const struct diff *d) {
        double sites = sum_changes(d, d->sites.items, d->sites.n);

        assert_true(fabs(sites - diff_total_change(d)) < 0.5);
        assert_true(fabs(sum_changes(d, d->functions.items, d->functions.n) - sites) < 0.5);
}

static void check_order(const struct diff *d, const struct diff_row *rows, size_t n) {
        for (size_t i = 1; i < n; i++)
                assert_true(fabs(diff_change(d, &rows[i - 1])) >= fabs(diff_change(d, &rows[i])));
}

/* The same rows with the sides changed. */
static void check_opposite(const struct diff_row *a, size_t n, const struct diff_row *b, size_t m) {
        bool *is_taken = calloc(m + 1, sizeof(is_taken[0]));

        assert_int_equal(n, m);
        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                while (k < m &&
                       (is_taken[k] ||
                        memcmp(&a[i].f[NAME_OLD], &b[k].f[NAME_NEW], sizeof(a->f[0])) != 0 ||
                        memcmp(&a[i].f[NAME_NEW], &b[k].f[NAME_OLD], sizeof(a->f[0])) != 0))
                        k++;
                assert_true(k < m);
                is_taken[k] = true;
        }
        free(is_taken);
}

static void test_laws(void **state) {
        (void)state;
        for (unsigned round = 0; round < 120; round++) {
                struct diff_options o, back;
                struct diff d, e;

                make_trace(OLD_PATH, 1000 + round);
                make_trace(NEW_PATH, draw(2) ? 1000 + round : 2000 + round);
                o = draw_options(OLD_PATH, NEW_PATH);
                back = o;
                back.sources[NAME_OLD] = o.sources[NAME_NEW];
                back.sources[NAME_NEW] = o.sources[NAME_OLD];
                gather(&d, &o);
                gather(&e, &back);
                check_sums(&d);
                check_order(&d, d.sites.items, d.sites.n);
                check_order(&d, d.functions.items, d.functions.n);
                check_opposite(d.sites.items, d.sites.n, e.sites.items, e.sites.n);
                check_opposite(d.functions.items, d.functions.n, e.functions.items, e.functions.n);
                assert_true(diff_total_change(&d) == -diff_total_change(&e));
                assert_int_equal(diff_is_found(&d), diff_is_found(&e));
                diff_done(&d);
                diff_done(&e);
        }
}

static void test_same(void **state) {
        (void)state;
        for (unsigned round = 0; round < 30; round++) {
                struct diff_options o;
                struct diff d;

                make_trace(OLD_PATH, 3000 + round);
                o = draw_options(OLD_PATH, OLD_PATH);
                o.sources[NAME_NEW] = o.sources[NAME_OLD];
                o.min_change_pct = 0; /* nothing at all */
                gather(&d, &o);
                assert_false(diff_is_found(&d));
                for (size_t i = 0; i < d.sites.n; i++)
                        assert_true(diff_status_of(&d, &d.sites.items[i]) == DIFF_SAME);
                diff_done(&d);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_laws),
                cmocka_unit_test(test_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
