/* SPDX-License-Identifier: MIT */
/* Moves against a plain walk over all events, on random traces; given paths of traces, on those, whose moves are
 * then printed as JSON for tests that know what they must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/moves_by_path.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "moves_test.silt"
#define TWIN_PATH "moves_test_twin.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

/* ---- brute force ----------------------------------------------------------------------------- */

struct brute_latest {
        bool is_there;
        uint32_t stack;
        uint64_t size_bytes, seq;
};

struct brute {
        const struct trace_view *v;
        const struct query_scope *scope;
        VEC(uint32_t) threads; /* by number of the block: who allocated it */
        struct brute_latest *latest;
        struct query_move *rows; /* by stack */
};

static struct query_move *brute_row(struct brute *b, const struct trace_event *e, uint32_t stack) {
        uint32_t process = b->v->threads[e->thread].start.process;
        static struct query_move nowhere;
        bool counts = e->time_ns >= b->scope->from_ns && e->time_ns < b->scope->to_ns &&
                      (b->scope->process == QUERY_ALL || b->scope->process == process);

        return counts ? &b->rows[stack] : &nowhere;
}

static void brute_release(struct brute *b, const struct trace_event *e, uint64_t seq,
                          uint32_t stack, uint64_t size_bytes, bool is_free) {
        uint32_t by = b->threads.items[seq];
        struct brute_latest *l = &b->latest[e->thread];
        struct query_move *m = brute_row(b, e, stack);

        if (b->v->threads[by].start.process != b->v->threads[e->thread].start.process)
                return;
        if (by % 65536 != e->thread % 65536)
                m->n_foreign_frees++, m->foreign_bytes += size_bytes;
        if (l->seq == seq)
                l->is_there = false;
        if (!is_free || !l->is_there || l->stack != stack || l->size_bytes == size_bytes)
                return;
        l->is_there = false;
        if (l->size_bytes < size_bytes)
                m->n_shrunk++;
        else
                m->n_grown++, m->copied_bytes += size_bytes, m->grown_bytes += l->size_bytes;
}

static void brute_event(struct brute *b, const struct trace_event *e) {
        if (e->op == TRACE_FREE)
                brute_release(b, e, e->seq, e->stack, e->size_bytes, true);
        if (e->op == TRACE_REALLOC) {
                struct query_move *m = brute_row(b, e, e->stack);

                brute_release(b, e, e->old_seq, e->old_stack, e->old_size_bytes, false);
                if (e->size_bytes > e->old_size_bytes) {
                        m->n_grown++;
                        m->copied_bytes += e->old_size_bytes;
                        m->grown_bytes += e->size_bytes;
                        m->in_place_bytes += e->seq % FABRIC_IN_PLACE ? 0 : e->old_size_bytes;
                }
        }
        if (e->op != TRACE_ALLOC && e->op != TRACE_REALLOC)
                return;
        assert_int_equal(e->seq, b->threads.n);
        vec_push(&b->threads, e->thread);
        b->latest[e->thread] =
                (struct brute_latest){e->op == TRACE_ALLOC, e->stack, e->size_bytes, e->seq};
}

/* By stack; to be freed. */
static struct query_move *brute_moves(const char *path, const struct query_scope *scope) {
        struct trace_reader *t;
        struct err err = {0};
        struct brute b = {.scope = scope};

        if (trace_reader_open(path, &t, &err) < 0)
                fail_msg("%s", err.text);
        b.v = trace_view(t);
        b.rows = calloc(b.v->n_stacks + 1, sizeof(b.rows[0]));
        b.latest = calloc(b.v->n_threads + 1, sizeof(b.latest[0]));
        for (size_t i = 0; i < b.v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                assert_int_equal(trace_read_events(t, i, &events, &n, &err), 0);
                for (size_t k = 0; k < n; k++)
                        brute_event(&b, &events[k]);
        }
        free(b.latest);
        vec_free(&b.threads);
        trace_reader_free(t);
        return b.rows;
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct counts {
        unsigned n_rows, n_cut, n_grown, n_shrunk, n_foreign, n_inexact;
};

static bool row_is_zero(const struct query_move *m) {
        return !(m->n_foreign_frees | m->n_grown | m->n_shrunk);
}

static void expect_row(const struct query_move *got, const struct query_move *want,
                       bool with_places) {
        assert_int_equal(got->n_foreign_frees, want->n_foreign_frees);
        assert_int_equal(got->foreign_bytes, want->foreign_bytes);
        assert_int_equal(got->n_grown, want->n_grown);
        assert_int_equal(got->copied_bytes, want->copied_bytes);
        assert_int_equal(got->grown_bytes, want->grown_bytes);
        assert_int_equal(got->n_shrunk, want->n_shrunk);
        assert_true(got->in_place_bytes <= got->copied_bytes);
        if (with_places)
                assert_int_equal(got->in_place_bytes, want->in_place_bytes);
}

/* Whether an edge of the window lies inside a slice. */
static bool window_cuts(struct query *q, const struct query_scope *w, struct trace_reader *t) {
        for (size_t i = 0; i < query_view(q)->n_slices; i++) {
                const struct trace_slice_info *s = trace_slice(t, i);

                if ((s->begin_ns < w->from_ns && w->from_ns < s->end_ns) ||
                    (s->begin_ns < w->to_ns && w->to_ns < s->end_ns))
                        return true;
        }
        return false;
}

/* whole_path: the same trace with all of its events. */
static void check_window(struct query *q, const char *path, const char *whole_path,
                         const struct query_scope *scope, bool is_fabric, struct counts *c) {
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        struct query_move *want;
        struct trace_reader *t;
        struct err err = {0};
        bool is_cut;
        size_t n = 0;

        if (query_moves(q, scope, &m, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(m->is_known);
        if (!m->is_exact) {
                c->n_inexact++;
                return;
        }
        assert_int_equal(trace_reader_open(path, &t, &err), 0);
        is_cut = window_cuts(q, &m->scope, t);
        trace_reader_free(t);
        want = brute_moves(whole_path, &m->scope);
        for (uint32_t stack = 0; stack < query_view(q)->n_stacks; stack++) {
                if (row_is_zero(&want[stack]))
                        continue;
                if (n >= m->n || m->rows[n].stack != stack)
                        fail_msg("stack %u is missing", stack);
                expect_row(&m->rows[n++], &want[stack], is_fabric && !is_cut);
                c->n_grown += want[stack].n_grown > 0;
                c->n_shrunk += want[stack].n_shrunk > 0;
                c->n_foreign += want[stack].n_foreign_frees > 0;
        }
        assert_int_equal(n, m->n);
        c->n_rows += (unsigned)n;
        c->n_cut += is_cut;
        free(want);
}

static struct query_scope draw_scope(struct query *q, uint64_t *random) {
        struct query_scope scope = query_whole(q);
        uint64_t end_ns = query_view(q)->end_ns;

        scope.process = draw(random, 3) ? (uint32_t)draw(random, query_view(q)->n_processes)
                                        : (uint32_t)QUERY_ALL;
        if (draw(random, 4))
                scope.from_ns = draw(random, end_ns / 1000 + 1) * 1000;
        if (draw(random, 4))
                scope.to_ns = scope.from_ns + 1 + draw(random, end_ns - scope.from_ns + 1);
        return scope;
}

static struct fabric_options options(uint64_t seed) {
        return (struct fabric_options){.seed = seed,
                                       .n_stacks = 3 + (unsigned)seed % 12,
                                       .slice_events = 10 + 7 * (unsigned)seed,
                                       .max_processes = 1 + (unsigned)seed % 4,
                                       .max_threads = 1 + (unsigned)seed % 5,
                                       .checkpoint_every = (unsigned)seed % 5,
                                       .max_step_us = 3,
                                       .with_names = true};
}

static void test_random(void **state) {
        struct counts c = {0};
        uint64_t random = 5;

        for (uint64_t seed = 1; seed <= 40; seed++) {
                struct fabric_options o = options(seed);
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                struct err err = {0};
                struct query *q;

                fabric_run(f, 1500);
                fabric_end(f);
                assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
                for (unsigned i = 0; i < 25; i++) {
                        struct query_scope scope = draw_scope(q, &random);

                        check_window(q, TRACE_PATH, TRACE_PATH, &scope, true, &c);
                }
                query_free(q);
        }
        print_message("%u rows, %u cut windows; %u grown, %u shrunk, %u foreign\n", c.n_rows,
                      c.n_cut, c.n_grown, c.n_shrunk, c.n_foreign);
        assert_int_equal(c.n_inexact, 0);
        assert_true(c.n_cut > 500 && c.n_grown > 2000 && c.n_shrunk > 1000 && c.n_foreign > 2000);
}

/* Oldest events dropped, slices merged: what is said to be exact is. */
static void test_bounded(void **state) {
        struct counts c = {0};
        uint64_t random = 6;

        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct fabric_options o = options(seed);
                struct fabric *f = fabric_new(TWIN_PATH, &o);
                struct err err = {0};
                struct query *q;

                fabric_run(f, 12000);
                fabric_end(f);
                f = fabric_new(TRACE_PATH, &o);
                trace_writer_bound(fabric_writer(f), 60000);
                fabric_run(f, 12000);
                fabric_end(f);
                assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
                for (unsigned i = 0; i < 25; i++) {
                        struct query_scope scope = draw_scope(q, &random);
                        uint64_t detail_ns = query_view(q)->detail_from_ns;

                        if (i % 2) /* a part that has its events */
                                scope.from_ns = detail_ns +
                                                draw(&random, query_view(q)->end_ns - detail_ns);
                        scope.to_ns = MAX(scope.to_ns, scope.from_ns + 1);
                        check_window(q, TRACE_PATH, TWIN_PATH, &scope, true, &c);
                }
                query_free(q);
        }
        print_message("%u rows, %u cut windows, %u not exact\n", c.n_rows, c.n_cut, c.n_inexact);
        assert_true(c.n_inexact < 60 && c.n_cut > 50);
        remove(TWIN_PATH);
}

/* With fewer events than it takes: what is counted is right, and the answer is marked. */
static void test_too_far(void **state) {
        struct fabric_options o = options(3);
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct err err = {0};
        struct query *q;
        struct trace_reader *t;
        unsigned n_inexact = 0;

        fabric_run(f, 1500);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
        assert_int_equal(trace_reader_open(TRACE_PATH, &t, &err), 0);
        for (size_t i = 5; i < query_view(q)->n_slices; i++) {
                struct query_scope w = {QUERY_ALL, trace_slice(t, i)->begin_ns + 1000,
                                        trace_slice(t, i)->end_ns, NULL};
                const struct trace_move *rows;
                moves_site_vec few = {0}, all = {0};
                size_t n;

                assert_int_equal(trace_read_moves(t, i, &rows, &n, &err), 0);
                for (size_t k = 0; k < n; k++) {
                        vec_push(&few, (struct moves_site){.row = rows[k]});
                        vec_push(&all, (struct moves_site){.row = rows[k]});
                }
                n_inexact += !moves_count_cut(q, i, &w, 0, &few);
                assert_true(moves_count_cut(q, i, &w, UINT64_MAX, &all));
                for (size_t k = 0; k < n; k++) {
                        const struct trace_move *x = &few.items[k].counted,
                                                *y = &all.items[k].counted;

                        assert_true(x->n_foreign_frees <= y->n_foreign_frees);
                        assert_true(x->n_grown <= y->n_grown && x->n_shrunk <= y->n_shrunk);
                }
                vec_free(&few);
                vec_free(&all);
        }
        assert_true(n_inexact > 5);
        trace_reader_free(t);
        query_free(q);
}

/* Conditions on the call path split the rows; those on single blocks cannot be answered. */
static void test_filters(void **state) {
        struct fabric_options o = options(7);
        struct fabric *f;
        _cleanup_(query_moves_freep) struct query_moves *all = NULL, *some = NULL, *others = NULL,
                                                        *sizes = NULL;
        struct query_filter *with = query_filter_new(), *without = query_filter_new(),
                            *size = query_filter_new();
        struct query_scope scope;
        struct err err = {0};
        struct query *q;

        o.n_stacks = 40;
        f = fabric_new(TRACE_PATH, &o);
        fabric_run(f, 3000);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
        scope = query_whole(q);
        assert_int_equal(query_moves(q, &scope, &all, &err), 0);
        assert_int_equal(query_filter_add(with, "function", "weft", &err), 0);
        assert_int_equal(query_filter_add(without, "not-function", "weft", &err), 0);
        assert_int_equal(query_filter_add(size, "size", "1..", &err), 0);
        scope.filter = with;
        assert_int_equal(query_moves(q, &scope, &some, &err), 0);
        scope.filter = without;
        assert_int_equal(query_moves(q, &scope, &others, &err), 0);
        scope.filter = size;
        assert_int_equal(query_moves(q, &scope, &sizes, &err), 0);
        assert_false(sizes->is_known);
        assert_int_equal(sizes->n, 0);
        assert_true(some->n > 0 && others->n > 0);
        assert_int_equal(some->n + others->n, all->n);
        for (size_t i = 0, a = 0, b = 0; i < all->n; i++) {
                bool is_first = a < some->n && some->rows[a].stack == all->rows[i].stack;

                assert_memory_equal(&all->rows[i], is_first ? &some->rows[a++] : &others->rows[b++],
                                    sizeof(all->rows[0]));
        }
        query_filter_free(with);
        query_filter_free(without);
        query_filter_free(size);
        query_free(q);
}

/* A trace that says nothing of moves has unknown ones. */
static void test_unknown(void **state) {
        struct fabric_options o = options(2);
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        struct query_scope scope;
        struct err err = {0};
        struct fabric *f;
        struct query *q;

        o.without_moves = true;
        f = fabric_new(TRACE_PATH, &o);
        fabric_run(f, 500);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
        scope = query_whole(q);
        assert_int_equal(query_moves(q, &scope, &m, &err), 0);
        assert_false(m->is_known);
        assert_int_equal(m->n, 0);
        query_free(q);
}

/* ---- recorded traces ------------------------------------------------------------------------- */

static bool print_frame(void *ctx, const struct query_frame *f) {
        json_string(ctx, f->function);
        return true;
}

static void print_moves(struct query *q) {
        struct query_scope scope = query_whole(q);
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        struct err err = {0};
        struct json j;

        scope.process = QUERY_ALL;
        if (query_moves(q, &scope, &m, &err) < 0)
                fail_msg("%s", err.text);
        for (size_t i = 0; i < m->n; i++) {
                const struct query_move *x = &m->rows[i];
                const struct {
                        const char *key;
                        uint64_t value;
                } fields[] = {{"n_foreign_frees", x->n_foreign_frees},
                              {"foreign_bytes", x->foreign_bytes},
                              {"n_grown", x->n_grown},
                              {"copied_bytes", x->copied_bytes},
                              {"grown_bytes", x->grown_bytes},
                              {"in_place_bytes", x->in_place_bytes},
                              {"n_shrunk", x->n_shrunk}};

                json_init(&j, stdout);
                json_object(&j);
                json_key(&j, "frames");
                json_array(&j);
                query_each_frame(q, x->stack, print_frame, &j);
                json_end(&j);
                for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
                        json_key(&j, fields[k].key);
                        json_uint(&j, fields[k].value);
                }
                json_end(&j);
        }
}

static int n_paths;
static char **paths;

static void test_recorded(void **state) {
        struct counts c = {0};

        for (int i = 0; i < n_paths; i++) {
                struct err err = {0};
                uint64_t random = 7;
                struct query *q;

                if (query_open(paths[i], &q, &err) < 0)
                        fail_msg("%s", err.text);
                print_moves(q);
                for (unsigned k = 0; k < 40 && query_view(q)->n_dropped_events == 0; k++) {
                        struct query_scope scope = draw_scope(q, &random);

                        check_window(q, paths[i], paths[i], &scope, false, &c);
                }
                query_free(q);
        }
        assert_int_equal(c.n_inexact, 0);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),  cmocka_unit_test(test_bounded),
                cmocka_unit_test(test_too_far), cmocka_unit_test(test_filters),
                cmocka_unit_test(test_unknown),
        };
        const struct CMUnitTest recorded[] = {cmocka_unit_test(test_recorded)};
        int r;

        if (argc > 1) {
                n_paths = argc - 1;
                paths = argv + 1;
                return cmocka_run_group_tests(recorded, NULL, NULL);
        }
        r = cmocka_run_group_tests(tests, NULL, NULL);
        remove(TRACE_PATH);
        return r;
}
