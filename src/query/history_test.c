/* SPDX-License-Identifier: MIT */
/* Groups over time, groups by thread and size, and histograms, against plain walks over all events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/vec.h"
#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/brute_filter.h"
#include "query/testing/brute_path.h"
#include "query/testing/fabric.h"

#define TRACE_PATH "history_test.silt"

enum { MAX_COLUMNS = 40 };

struct setting {
        const char *path;
        struct query *q;
        const struct trace_view *v;
        uint64_t random;
        bool is_recorded;
        unsigned n_exact, n_snapped, n_rows, n_buckets; /* looked at */
};

static uint64_t draw(struct setting *s, uint64_t below) {
        s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (s->random >> 33) % below : 0;
}

static struct query_scope draw_scope(struct setting *s) {
        struct query_scope scope = query_whole(s->q);
        uint64_t end_ns = s->v->end_ns;

        if (draw(s, 2))
                scope.process = (uint32_t)draw(s, s->v->n_processes);
        /* a recorder learns late that a process has ended: events do not tell the peak of all together */
        if (draw(s, 3) == 0 && !(s->is_recorded && s->v->n_processes > 1))
                scope.process = QUERY_ALL;
        if (draw(s, 2))
                scope.from_ns = draw(s, end_ns / 1000) * 1000;
        if (draw(s, 2))
                scope.to_ns = scope.from_ns + 1 + draw(s, end_ns - scope.from_ns + 1);
        return scope;
}

static bool in_scope(const struct query_scope *scope, uint32_t process) {
        return scope->process == QUERY_ALL || scope->process == process;
}

/* ---- over time ------------------------------------------------------------------------------- */

static char *group_text(struct setting *s, enum query_by by, uint32_t process, uint32_t stack) {
        struct brute_path p;
        char *text;

        if (by == QUERY_BY_PROCESS) {
                text = malloc(16);
                snprintf(text, 16, "%u", process);
                return text;
        }
        p = brute_path(query_names(s->q), s->v, stack,
                       by == QUERY_BY_MODULE ? BRUTE_MODULE : BRUTE_FUNCTION, false);
        text = strdup(p.n ? p.texts[0] : "no stack");
        brute_path_done(&p);
        return text;
}

/* What each group had alive just before at_ns, and did since the window began (begin_blocks: how many
 * fewer there are); the last one is all others. */
static void expect_figures(struct setting *s, const struct query_history *h, uint64_t at_ns,
                           struct query_figures *ret) {
        enum query_by by = h->groups->options.by;
        struct query_scope scope = {h->groups->answer->scope.process,
                                    h->groups->answer->scope.from_ns, at_ns, NULL};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err err = {0};

        assert_int_equal(brute_ask_split(s->path, &scope, &a, &err), 0);
        memset(ret, 0, (h->n_groups + 1) * sizeof(*ret));
        for (size_t i = 0; i < a->n_sites; i++) {
                char *text = group_text(s, by, a->sites[i].process, a->sites[i].stack);
                size_t g = 0;

                for (; g < h->n_groups; g++) {
                        char *other = group_text(s, by, h->groups->rows[g].process,
                                                 h->groups->rows[g].stack);
                        bool is_it = strcmp(text, other) == 0;

                        free(other);
                        if (is_it)
                                break;
                }
                free(text);
                ret[g].n_allocs += a->sites[i].f.n_allocs;
                ret[g].n_frees += a->sites[i].f.n_frees;
                ret[g].end_bytes += a->sites[i].f.end_bytes;
                ret[g].end_blocks += a->sites[i].f.end_blocks;
        }
}

static void check_history(struct setting *s, const struct query_scope *scope) {
        static const enum query_by bys[] = {QUERY_BY_FUNCTION, QUERY_BY_MODULE, QUERY_BY_PROCESS};
        struct query_group_options o = {.by = bys[draw(s, 3)],
                                        .metric = (enum query_metric)draw(s, QUERY_CPU)};
        size_t n_columns = 1 + draw(s, MAX_COLUMNS), n_groups = draw(s, 5);
        uint64_t max_events = draw(s, 3) == 0 ? 0 : draw(s, 2) ? UINT64_MAX : 500;
        _cleanup_(query_history_freep) struct query_history *first = NULL;
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        uint64_t to_ns = MAX(MIN(scope->to_ns, s->v->end_ns), scope->from_ns + 1), last_ns = 0;
        struct err err = {0};
        struct query_figures figures[8];
        bool is_by_work = draw(s, 3) == 0;
        int r;

        r = query_history(s->q, scope, &o, n_groups, n_columns, max_events,
                          is_by_work ? &first : &h, &err);
        if (is_by_work)
                r = query_history_by_work(s->q, first, max_events, &h, &err);
        assert_int_equal(r, 0);
        assert_true(h->n_groups <= n_groups && h->n_columns == n_columns);
        for (size_t c = 0; c < n_columns; c++) {
                uint64_t end_ns =
                        scope->from_ns +
                        (uint64_t)((__uint128_t)(to_ns - scope->from_ns) * (c + 1) / n_columns);

                assert_true(h->at_ns[c] >= last_ns);
                last_ns = h->at_ns[c];
                s->n_exact += h->at_ns[c] == end_ns;
                s->n_snapped += h->at_ns[c] != end_ns;
                if (max_events == UINT64_MAX && (!is_by_work || c + 1 == n_columns))
                        assert_int_equal(h->at_ns[c], end_ns);
                if (c % 5 && c + 1 < n_columns)
                        continue; /* brute force takes its time */
                if (h->at_ns[c] <= scope->from_ns)
                        continue; /* the nearest end of a slice may lie before the window */
                expect_figures(s, h, h->at_ns[c], figures);
                for (size_t g = 0; g <= h->n_groups; g++) {
                        size_t i = g * n_columns + c;

                        assert_int_equal(h->live_bytes[i], figures[g].end_bytes);
                        assert_int_equal(h->live_blocks[i], figures[g].end_blocks);
                        assert_int_equal(h->n_allocs[i], figures[g].n_allocs);
                        assert_int_equal(h->n_frees[i], figures[g].n_frees);
                }
        }
}

/* ---- by block -------------------------------------------------------------------------------- */

struct block {
        uint64_t size_bytes, begin_ns;
        uint32_t thread;
};

struct walk {
        VEC(struct block) blocks; /* by seq */
        struct query_bucket lifetimes[TRACE_N_LIFE_BUCKETS];
        struct map n_allocs_of_thread, bytes_of_thread, n_frees_of_thread; /* that allocated */
        struct map n_allocs_of_class, bytes_of_class;                      /* by its largest size */
};

/* The largest size of a class, found by counting up. */
static uint64_t class_end(uint64_t size_bytes) {
        uint64_t end = size_bytes > 8 ? 16 : size_bytes ? 8 : 0, step = 16;

        while (end < size_bytes) {
                step = end >= 128 && (end & (end - 1)) == 0 ? end / 4 : step;
                end += step;
        }
        return end;
}

static void walk_release(struct walk *w, const struct query_scope *scope, uint64_t time_ns,
                         uint64_t seq) {
        const struct block *b = &w->blocks.items[seq];
        uint64_t us = (time_ns - b->begin_ns) / 1000;
        unsigned bucket = 0;

        while (bucket + 1 < TRACE_N_LIFE_BUCKETS && us >= 4)
                us /= 4, bucket++;
        if (time_ns < scope->from_ns)
                return;
        w->lifetimes[bucket].n_blocks++;
        w->lifetimes[bucket].bytes += b->size_bytes;
        (*map_put(&w->n_frees_of_thread, b->thread, 0, NULL))++;
}

static void walk_alloc(struct walk *w, const struct query_scope *scope, uint32_t process,
                       const struct trace_event *e) {
        while (w->blocks.n <= e->seq)
                vec_push(&w->blocks, (struct block){0});
        w->blocks.items[e->seq] = (struct block){e->size_bytes, e->time_ns, e->thread};
        if (!in_scope(scope, process) || e->time_ns < scope->from_ns)
                return;
        (*map_put(&w->n_allocs_of_class, class_end(e->size_bytes), 0, NULL))++;
        *map_put(&w->bytes_of_class, class_end(e->size_bytes), 0, NULL) += e->size_bytes;
        (*map_put(&w->n_allocs_of_thread, e->thread, 0, NULL))++;
        *map_put(&w->bytes_of_thread, e->thread, 0, NULL) += e->size_bytes;
}

static void walk_events(struct setting *s, const struct query_scope *scope, struct walk *w) {
        struct trace_reader *t = NULL;
        struct err err = {0};

        assert_int_equal(trace_reader_open(s->path, &t, &err), 0);
        for (size_t i = 0; i < s->v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                assert_int_equal(trace_read_events(t, i, &events, &n, &err), 0);
                for (size_t k = 0; k < n && events[k].time_ns < scope->to_ns; k++) {
                        const struct trace_event *e = &events[k];
                        uint32_t process = e->thread < s->v->n_threads
                                                   ? s->v->threads[e->thread].start.process
                                                   : TRACE_NO_PROCESS;

                        if (process == TRACE_NO_PROCESS)
                                continue;
                        if (in_scope(scope, process) && e->op == TRACE_REALLOC)
                                walk_release(w, scope, e->time_ns, e->old_seq);
                        if (in_scope(scope, process) &&
                            (e->op == TRACE_FREE ||
                             (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE)))
                                walk_release(w, scope, e->time_ns, e->seq);
                        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC)
                                walk_alloc(w, scope, process, e);
                }
        }
        trace_reader_free(t);
}

static void walk_done(struct walk *w) {
        vec_free(&w->blocks);
        map_done(&w->n_allocs_of_thread);
        map_done(&w->bytes_of_thread);
        map_done(&w->n_frees_of_thread);
        map_done(&w->n_allocs_of_class);
        map_done(&w->bytes_of_class);
}

static uint64_t at(const struct map *m, uint64_t key) {
        uint64_t value = 0;

        map_get(m, key, &value);
        return value;
}

static void check_sizes(struct setting *s, const struct query_scope *scope, const struct walk *w) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        struct err err = {0};

        assert_int_equal(query_histogram(s->q, scope, QUERY_SIZES, true, &h, &err), 0);
        assert_true(h->has_bytes && h->is_exact);
        assert_int_equal(h->n, w->n_allocs_of_class.n);
        for (size_t i = 0; i < h->n; i++) {
                const struct query_bucket *b = &h->buckets[i];

                assert_true(i == 0 || b->min > h->buckets[i - 1].max);
                assert_int_equal(b->n_blocks, at(&w->n_allocs_of_class, b->max));
                assert_int_equal(b->bytes, at(&w->bytes_of_class, b->max));
                s->n_buckets++;
        }
}

static void check_lifetimes(struct setting *s, const struct query_scope *scope,
                            const struct walk *w) {
        struct err err = {0};

        for (unsigned with_bytes = 0; with_bytes < 2; with_bytes++) {
                _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
                uint64_t n_blocks = 0;

                assert_int_equal(query_histogram(s->q, scope, QUERY_LIFETIMES, with_bytes, &h,
                                                 &err),
                                 0);
                assert_int_equal(h->n, TRACE_N_LIFE_BUCKETS);
                assert_true(h->has_bytes || !with_bytes);
                for (size_t i = 0; i < h->n; i++) {
                        uint64_t expected = w->lifetimes[i].n_blocks, got = h->buckets[i].n_blocks;

                        n_blocks += expected;
                        /* a recorder's clock is finer than that of its events */
                        if (s->is_recorded && !h->has_bytes)
                                assert_true(got <= expected + h->n_blocks / 1000 + 3 &&
                                            expected <= got + h->n_blocks / 1000 + 3);
                        else
                                assert_int_equal(got, expected);
                        if (h->has_bytes)
                                assert_int_equal(h->buckets[i].bytes, w->lifetimes[i].bytes);
                        s->n_buckets++;
                }
                assert_int_equal(h->n_blocks, n_blocks);
        }
}

static void check_blocks(struct setting *s, const struct query_scope *scope) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct walk w = {0};
        struct err err = {0};

        walk_events(s, scope, &w);
        assert_int_equal(brute_ask(s->path, scope, &a, &err), 0);
        for (unsigned by = QUERY_BY_THREAD; by <= QUERY_BY_SIZE; by++) {
                struct query_group_options o = {.by = (enum query_by)by, .metric = QUERY_END};
                _cleanup_(query_groups_freep) struct query_groups *g = NULL;
                struct query_figures sum = {0};

                assert_int_equal(query_group(s->q, scope, &o, &g, &err), 0);
                for (size_t i = 0; i < g->n; i++) {
                        const struct query_group *row = &g->rows[i];

                        query_figures_add(&sum, &row->self);
                        s->n_rows++;
                        if (by == QUERY_BY_SIZE) {
                                assert_int_equal(row->self.n_allocs,
                                                 at(&w.n_allocs_of_class, row->max_bytes));
                                assert_int_equal(row->self.alloc_bytes,
                                                 at(&w.bytes_of_class, row->max_bytes));
                                continue;
                        }
                        assert_int_equal(row->self.n_allocs,
                                         at(&w.n_allocs_of_thread, row->thread));
                        assert_int_equal(row->self.alloc_bytes,
                                         at(&w.bytes_of_thread, row->thread));
                        assert_int_equal(row->self.n_frees, at(&w.n_frees_of_thread, row->thread));
                }
                assert_int_equal(sum.n_allocs, a->totals.n_allocs);
                assert_int_equal(sum.alloc_bytes, a->totals.alloc_bytes);
                assert_int_equal(sum.n_temporary, a->totals.n_temporary);
                assert_int_equal(sum.n_reallocs, a->totals.n_reallocs);
                assert_int_equal(sum.n_frees, a->totals.n_frees + a->totals.n_implicit_frees);
                assert_int_equal(sum.peak_bytes, a->totals.peak_bytes);
                assert_int_equal(sum.peak_blocks, a->totals.peak_blocks);
                assert_int_equal(sum.begin_bytes, a->totals.begin_bytes);
                assert_int_equal(sum.begin_blocks, a->totals.begin_blocks);
                assert_int_equal(sum.end_bytes, a->totals.end_bytes);
                assert_int_equal(sum.end_blocks, a->totals.end_blocks);
        }
        check_sizes(s, scope, &w);
        check_lifetimes(s, scope, &w);
        walk_done(&w);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void check_trace(const char *path, uint64_t seed, unsigned n_windows, struct setting *sums) {
        struct setting s = {.path = path,
                            .random = seed,
                            .is_recorded = strcmp(path, TRACE_PATH) != 0};
        struct err err = {0};

        assert_int_equal(query_open(path, &s.q, &err), 0);
        s.v = query_view(s.q);
        for (unsigned i = 0; i < n_windows; i++) {
                struct query_scope scope = i ? draw_scope(&s) : query_whole(s.q);

                check_history(&s, &scope);
                check_blocks(&s, &scope);
        }
        sums->n_exact += s.n_exact;
        sums->n_snapped += s.n_snapped;
        sums->n_rows += s.n_rows;
        sums->n_buckets += s.n_buckets;
        query_free(s.q);
}

/* ---- filters --------------------------------------------------------------------------------- */

static const struct filtering {
        const char *kind, *value;
        struct brute_condition condition;
} filterings[] = {
        {"function", "walk|helper", {.kind = "function", .pattern = "walk|helper"}},
        {"not-module", "shop", {.kind = "not-module", .pattern = "shop"}},
        {"size", "50..5000", {.kind = "size", .min = 50, .max = 5000}},
        {"lifetime", "10us..1ms", {.kind = "lifetime", .min = 10000, .max = 1000000}},
};

static void expect_sum(const struct query_figures *f, const struct query_answer *expected) {
        assert_int_equal(f->n_allocs, expected->totals.n_allocs);
        assert_int_equal(f->alloc_bytes, expected->totals.alloc_bytes);
        assert_int_equal(f->n_frees, expected->totals.n_frees);
        assert_int_equal(f->n_temporary, expected->totals.n_temporary);
        assert_int_equal(f->peak_bytes, expected->totals.peak_bytes);
        assert_int_equal(f->begin_bytes, expected->totals.begin_bytes);
        assert_int_equal(f->end_bytes, expected->totals.end_bytes);
}

static void check_filtered_history(struct setting *s, struct brute_lives *b,
                                   const struct query_scope *scope, const struct brute_filter *f) {
        const struct query_group_options o = {.by = (enum query_by)draw(s, QUERY_N_BY)};
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        struct err err = {0};

        assert_int_equal(query_history(s->q, scope, &o, 3, 7, draw(s, 2) ? 0 : UINT64_MAX, &h,
                                       &err),
                         0);
        for (size_t c = 0; c < h->n_columns; c++) {
                struct query_scope until = {scope->process, 0, h->at_ns[c], NULL};
                _cleanup_(query_answer_freep) struct query_answer *a =
                        brute_lives_ask(b, &until, f);
                int64_t sum = 0;

                for (size_t g = 0; g <= h->n_groups; g++)
                        sum += h->live_bytes[g * h->n_columns + c];
                assert_int_equal(sum, a->totals.end_bytes);
        }
}

static void check_filtered(struct setting *s, struct brute_lives *b,
                           const struct query_scope *scope, const struct brute_filter *f) {
        const struct query_tree_options top_down = {.min_share = 0.1};
        _cleanup_(query_answer_freep) struct query_answer *expected = brute_lives_ask(b, scope, f);
        _cleanup_(query_histogram_freep) struct query_histogram *sizes = NULL, *lifetimes = NULL;
        _cleanup_(query_tree_freep) struct query_tree *t = NULL;
        struct err err = {0};

        for (unsigned by = 0; by < QUERY_N_BY; by++) {
                const struct query_group_options o = {.by = (enum query_by)by};
                _cleanup_(query_groups_freep) struct query_groups *g = NULL;
                struct query_figures sum = {0};

                assert_int_equal(query_group(s->q, scope, &o, &g, &err), 0);
                for (size_t i = 0; i < g->n; i++)
                        query_figures_add(&sum, &g->rows[i].self);
                expect_sum(&sum, expected);
                s->n_rows += (unsigned)g->n;
        }
        assert_int_equal(query_tree(s->q, scope, &top_down, &t, &err), 0);
        expect_sum(&t->root->total, expected);
        assert_int_equal(query_histogram(s->q, scope, QUERY_SIZES, false, &sizes, &err), 0);
        assert_int_equal(sizes->n_blocks, expected->totals.n_allocs);
        assert_int_equal(query_histogram(s->q, scope, QUERY_LIFETIMES, false, &lifetimes, &err), 0);
        assert_int_equal(lifetimes->n_blocks, expected->totals.n_frees);
        check_filtered_history(s, b, scope, f);
}

/* Everything is about the blocks a filter selects, and about no other. */
static void test_filters(void **state) {
        (void)state;
        for (uint64_t seed = 50; seed < 56; seed++) {
                const struct fabric_options o = {.seed = seed,
                                                 .n_stacks = 40,
                                                 .slice_events = 60,
                                                 .max_processes = 1 + (unsigned)seed % 3,
                                                 .max_threads = 3,
                                                 .checkpoint_every = 3,
                                                 .max_step_us = 30,
                                                 .with_paths = true};
                struct setting s = {.path = TRACE_PATH, .random = seed};
                struct fabric *fabric = fabric_new(TRACE_PATH, &o);
                struct brute_lives *b = NULL;
                struct err err = {0};

                fabric_run(fabric, 1200);
                fabric_end(fabric);
                assert_int_equal(query_open(TRACE_PATH, &s.q, &err), 0);
                assert_int_equal(brute_lives_new(TRACE_PATH, &b, &err), 0);
                s.v = query_view(s.q);
                for (unsigned i = 0; i < 24; i++) {
                        const struct filtering *f = &filterings[i % 4];
                        struct brute_filter brute = {.conditions = {f->condition}, .n = 1};
                        struct query_filter *filter = query_filter_new();
                        struct query_scope scope = draw_scope(&s);

                        if (scope.process == QUERY_ALL)
                                scope.process = 0;
                        assert_int_equal(query_filter_add(filter, f->kind, f->value, &err), 0);
                        scope.filter = filter;
                        check_filtered(&s, b, &scope, &brute);
                        query_filter_free(filter);
                }
                assert_true(s.n_rows > 500);
                brute_lives_free(b);
                query_free(s.q);
        }
}

static void test_random(void **state) {
        struct setting sums = {0};

        (void)state;
        for (uint64_t seed = 1; seed <= 16; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 30,
                                           .slice_events = 40 + 10 * (unsigned)seed,
                                           .max_processes = 1 + (unsigned)seed % 5,
                                           .max_threads = 1 + (unsigned)seed % 4,
                                           .checkpoint_every = (unsigned)seed % 5,
                                           .max_step_us = 3,
                                           .with_paths = true};
                struct fabric *f = fabric_new(TRACE_PATH, &o);

                fabric_run(f, 1500);
                fabric_end(f);
                check_trace(TRACE_PATH, seed, 8, &sums);
        }
        print_message("%u columns exact, %u at ends of slices; %u rows, %u buckets\n", sums.n_exact,
                      sums.n_snapped, sums.n_rows, sums.n_buckets);
        assert_true(sums.n_exact > 500 && sums.n_snapped > 200);
}

/* What history knows is answered from a small part of a large trace. */
static void test_bytes_read(void **state) {
        const struct fabric_options o = {.seed = 9,
                                         .n_stacks = 40,
                                         .slice_events = 16000,
                                         .max_processes = 1,
                                         .max_threads = 2,
                                         .checkpoint_every = 20,
                                         .max_step_us = 2,
                                         .with_paths = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint64_t file_bytes;

        (void)state;
        fabric_run(f, 800000);
        fabric_end(f);
        for (unsigned what = 0; what < 11; what++) {
                const struct query_group_options by = {.by = (enum query_by)(what % 5)};
                const struct query_tree_options tree = {.kind = (enum query_tree_kind)(what % 2)};
                _cleanup_(query_groups_freep) struct query_groups *g = NULL;
                _cleanup_(query_tree_freep) struct query_tree *t = NULL;
                _cleanup_(query_history_freep) struct query_history *h = NULL;
                _cleanup_(query_histogram_freep) struct query_histogram *lifetimes = NULL;
                struct query_scope scope;
                uint64_t before;
                struct err err = {0};
                struct query *q;

                assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
                file_bytes = query_view(q)->file_bytes;
                before = query_bytes_read(q);
                scope = query_whole(q);
                if (what < 5)
                        assert_int_equal(query_group(q, &scope, &by, &g, &err), 0);
                else if (what < 9)
                        assert_int_equal(query_tree(q, &scope, &tree, &t, &err), 0);
                else if (what < 10)
                        assert_int_equal(query_history(q, &scope, &by, 5, 20, 0, &h, &err), 0);
                else
                        assert_int_equal(query_histogram(q, &scope, QUERY_LIFETIMES, false,
                                                         &lifetimes, &err),
                                         0);
                before = query_bytes_read(q) - before;
                print_message("%u: %llu of %llu bytes\n", what, (unsigned long long)before,
                              (unsigned long long)file_bytes);
                /* a history needs the rows of every slice, and the slices are small here */
                assert_true(before * 100 < file_bytes * (what < 9 ? 5 : 8));
                query_free(q);
        }
}

/* All of the work in two moments of a long recording: as many allocations in each column. */
static void test_by_work(void **state) {
        enum { N = 3000, COLUMNS = 50 };
        const struct fabric_options o = {.seed = 7, .max_processes = 1, .max_threads = 1};
        const struct query_group_options by = {.by = QUERY_BY_SITE, .metric = QUERY_ALLOCATED};
        struct fabric *f = fabric_new("history_by_work.silt", &o);
        uint32_t thread = fabric_thread(f, 0, "thread");
        uint32_t stack = fabric_frame(f, 0, "/usr/bin/fabric", "main", "main.c", 1);
        struct query_history *first, *h;
        struct query_scope scope;
        struct err err = {0};
        struct query *q;

        (void)state;
        for (unsigned i = 0; i < N; i++) {
                fabric_alloc(f, 0, thread, stack, 10 + i % 7);
                fabric_wait(f, i == N / 3 ? 3600000000ull : 100);
        }
        fabric_wait(f, 600000000);
        fabric_end(f);
        assert_int_equal(query_open("history_by_work.silt", &q, &err), 0);
        scope = query_whole(q);
        assert_int_equal(query_history(q, &scope, &by, 1, COLUMNS, UINT64_MAX, &first, &err), 0);
        assert_int_equal(query_history_by_work(q, first, UINT64_MAX, &h, &err), 0);
        for (size_t c = 0; c < COLUMNS; c++)
                assert_true(labs((long)h->n_allocs[c] - (long)(N * (c + 1) / COLUMNS)) <= 1);
        query_history_free(h);
        query_history_free(first);
        query_free(q);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                           cmocka_unit_test(test_by_work),
                                           cmocka_unit_test(test_filters),
                                           cmocka_unit_test(test_bytes_read)};
        struct setting sums = {0};

        if (argc == 1)
                return cmocka_run_group_tests(tests, NULL, NULL);
        for (int i = 1; i < argc; i++)
                check_trace(argv[i], 1, 3, &sums);
        printf("%u columns, %u rows, %u buckets as expected\n", sums.n_exact + sums.n_snapped,
               sums.n_rows, sums.n_buckets);
        return 0;
}
