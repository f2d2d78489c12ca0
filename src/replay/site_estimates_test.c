/* SPDX-License-Identifier: MIT */
/* Estimates against a plain computation, on random traces: all events kept, and for each site the sum gone through once more without it. The
 * operations to be replayed against the history's own totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "query/cursor.h"
#include "query/testing/fabric.h"
#include "replay/recorded_ops.h"
#include "replay/site_estimates.h"

static const char path[] = "site_estimates_test.silt";

struct world {
        struct query *q;
        struct frame_names names;
        VEC(struct trace_event) events;
};

static void world_init(struct world *w, uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 30,
                                         .slice_events = 200,
                                         .max_processes = 1,
                                         .max_threads = 3,
                                         .checkpoint_every = 4,
                                         .max_step_us = 20,
                                         .with_names = true};
        struct fabric *f = fabric_new(path, &o);
        struct query_cursor *c;
        const struct query_row *row;
        struct query_scope scope;
        struct err err = {0};

        fabric_run(f, 3000);
        fabric_end(f);
        *w = (struct world){0};
        if (query_open(path, &w->q, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        w->names = (struct frame_names){.q = w->q, .names = query_names(w->q)};
        scope = query_whole(w->q);
        assert_int_equal(query_cursor_open(w->q, &scope, QUERY_ROWS_EVENTS, &c, &err), 0);
        while (query_cursor_next(c, &row, &err) > 0)
                vec_push(&w->events, *row->event.event);
        query_cursor_free(c);
}

static void world_done(struct world *w) {
        vec_free(&w->events);
        query_free(w->q);
}

/* Whether two call paths end in the same code, as people tell it. */
static bool is_same_code(const struct world *w, uint32_t a, uint32_t b) {
        struct frame_stack x = {0}, y = {0};
        struct str s = {0}, t = {0};
        bool is_same;

        frame_stack_fill(&x, &w->names, a, false);
        frame_stack_fill(&y, &w->names, b, false);
        if (x.shown.n) {
                const struct name_frame *f = &x.frames.items[x.shown.items[0].frame_idx];

                frame_add_function(&s, &w->names, f, x.shown.items[0].is_task, true, true);
                str_addf(&s, ":%u %s", f->line, f->module);
        }
        if (y.shown.n) {
                const struct name_frame *f = &y.frames.items[y.shown.items[0].frame_idx];

                frame_add_function(&t, &w->names, f, y.shown.items[0].is_task, true, true);
                str_addf(&t, ":%u %s", f->line, f->module);
        }
        is_same = strcmp(str_text(&s), str_text(&t)) == 0;
        frame_stack_done(&x);
        frame_stack_done(&y);
        str_done(&s);
        str_done(&t);
        return is_same;
}

struct truth {
        int64_t gone, brief;
};

/* The sum once more, with the site's blocks left out. */
static struct truth go_through(const struct world *w, const bool *is_site) {
        struct truth t = {0};
        int64_t others = 0;

        for (size_t i = 0; i < w->events.n; i++) {
                const struct trace_event *e = &w->events.items[i];
                bool is_alloc = e->op == TRACE_ALLOC || e->op == TRACE_REALLOC;
                bool is_free = e->op == TRACE_FREE ||
                               (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE);

                if (e->op == TRACE_REALLOC && !is_site[e->old_stack])
                        others -= (int64_t)e->old_size_bytes;
                if (is_free && !is_site[e->stack])
                        others -= (int64_t)e->size_bytes;
                if (is_alloc && !is_site[e->stack])
                        others += (int64_t)e->size_bytes;
                if (is_alloc && is_site[e->stack])
                        t.brief = MAX(t.brief, others + (int64_t)e->size_bytes);
                t.gone = MAX(t.gone, others);
        }
        t.brief = MAX(t.brief, t.gone);
        return t;
}

static void check_site(const struct world *w, const struct site_estimate *row) {
        size_t n = query_view(w->q)->n_stacks;
        bool *is_site = calloc(n, sizeof(is_site[0]));
        struct truth t;

        for (uint32_t i = 1; i < n; i++)
                is_site[i] = is_same_code(w, i, row->stack);
        t = go_through(w, is_site);
        assert_int_equal(row->gone_peak_bytes, t.gone);
        assert_int_equal(row->brief_peak_bytes, t.brief);
        free(is_site);
}

static void test_estimates(void **state) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct site_estimates e = {0};
                struct query_answer *a = NULL;
                struct query_scope scope;
                struct err err = {0};
                struct world w;

                world_init(&w, seed);
                scope = query_whole(w.q);
                assert_int_equal(query_ask(w.q, &scope, &a, &err), 0);
                assert_int_equal(site_estimates_make(&e, w.q, &w.names, scope.process, 8, &err), 0);
                assert_true(e.is_exact && e.n > 0);
                assert_int_equal(e.peak_bytes, a->totals.peak_bytes);
                for (size_t i = 0; i < e.n; i++) {
                        check_site(&w, &e.rows[i]);
                        assert_true(i == 0 ||
                                    e.rows[i - 1].gone_peak_bytes <= e.rows[i].gone_peak_bytes);
                }
                site_estimates_done(&e);
                query_answer_free(a);
                world_done(&w);
        }
        (void)state;
}

/* The first pass counts what history does. */
static void test_operations(void **state) {
        for (uint64_t seed = 20; seed < 30; seed++) {
                struct recorded_ops o;
                struct query_answer *a = NULL;
                struct query_scope scope;
                struct err err = {0};
                struct world w;

                world_init(&w, seed);
                scope = query_whole(w.q);
                assert_int_equal(query_ask(w.q, &scope, &a, &err), 0);
                assert_int_equal(recorded_ops_scan(&o, w.q, scope.process, &err), 0);
                assert_true(o.is_exact);
                assert_int_equal(o.n_allocs + o.n_reallocs, a->totals.n_allocs);
                assert_int_equal(o.peak_live_bytes, a->totals.peak_bytes);
                assert_int_equal(o.live_bytes, a->totals.end_bytes);
                assert_int_equal(o.live_blocks, a->totals.end_blocks);
                recorded_ops_done(&o);
                query_answer_free(a);
                world_done(&w);
        }
        (void)state;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_estimates),
                cmocka_unit_test(test_operations),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
