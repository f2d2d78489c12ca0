/* SPDX-License-Identifier: MIT */
/* Rows that are pulled against what stands in the trace and what callbacks are told, on random traces, windows and filters; several
 * cursors at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "query/cursor.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "cursor_test.silt"

struct setting {
        struct query *q;
        struct trace_reader *t; /* the trace itself, for what is expected */
        const struct trace_view *v;
        uint64_t random;
        uint64_t *
                release_ns; /* by number of a block: in the process that allocated it; UINT64_MAX: never */
        uint64_t *begin_ns;
        uint32_t *owner;
        size_t n_blocks;
        size_t n_told;
};

static uint64_t draw(struct setting *s, uint64_t below) {
        s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (s->random >> 33) % below : 0;
}

static void put_rows(struct fabric *f, uint64_t seed) {
        uint32_t stack = fabric_frame(f, 0, "/bin/x", "mapper", "x.c", 1);

        for (unsigned i = 0; i < 40; i++) {
                struct trace_mapping m = {.stack = stack,
                                          .op = i % 3 ? TRACE_MMAP : TRACE_MUNMAP,
                                          .prot = 3,
                                          .time_ns = fabric_now_ns(f),
                                          .address = 0x10000 * (i % 7 + 1),
                                          .size_bytes = 4096 * (1 + i % 5)};

                trace_put_mapping(fabric_writer(f), &m);
                if (i % 8 == seed % 8)
                        trace_put_note(fabric_writer(f), fabric_now_ns(f), "snapshot: n");
                fabric_run(f, 60);
        }
}

static uint32_t process_of(const struct setting *s, const struct trace_event *e) {
        return s->v->threads[e->thread].start.process;
}

static void note_event(struct setting *s, const struct trace_event *e) {
        bool is_old = e->op == TRACE_REALLOC;
        uint64_t gone = is_old ? e->old_seq : e->seq;

        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) {
                s->begin_ns[e->seq] = e->time_ns;
                s->release_ns[e->seq] = UINT64_MAX;
                s->owner[e->seq] = process_of(s, e);
        }
        if ((is_old || e->op == TRACE_FREE ||
             (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE)) &&
            s->owner[gone] == process_of(s, e))
                s->release_ns[gone] = e->time_ns;
}

static void note_blocks(struct setting *s) {
        const struct trace_event *events;
        struct err e = {0};
        size_t n;

        s->n_blocks = s->v->n_events;
        s->release_ns = calloc(s->n_blocks + 1, sizeof(uint64_t));
        s->begin_ns = calloc(s->n_blocks + 1, sizeof(uint64_t));
        s->owner = calloc(s->n_blocks + 1, sizeof(uint32_t));
        for (size_t i = 0; i < s->v->n_slices; i++) {
                assert_int_equal(trace_read_events(s->t, i, &events, &n, &e), 0);
                for (size_t k = 0; k < n; k++)
                        note_event(s, &events[k]);
        }
}

static void setting_init(struct setting *s, uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 25,
                                         .slice_events = 70,
                                         .max_processes = 1 + (unsigned)seed % 3,
                                         .max_threads = 3,
                                         .checkpoint_every = 6,
                                         .max_step_us = 2,
                                         .by_maker = seed / 3 % 2,
                                         .with_names = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct err e = {0};

        *s = (struct setting){.random = seed};
        put_rows(f, seed);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &s->q, &e), 0);
        assert_int_equal(trace_reader_open(TRACE_PATH, &s->t, &e), 0);
        s->v = trace_view(s->t);
        note_blocks(s);
}

static void setting_done(struct setting *s) {
        query_free(s->q);
        trace_reader_free(s->t);
        free(s->release_ns);
        free(s->begin_ns);
        free(s->owner);
}

static struct query_scope draw_scope(struct setting *s) {
        struct query_scope scope = query_whole(s->q);

        if (draw(s, 2))
                scope.process = (uint32_t)draw(s, s->v->n_processes);
        if (draw(s, 2))
                scope.process = QUERY_ALL;
        if (draw(s, 2))
                scope.from_ns = draw(s, s->v->end_ns);
        if (draw(s, 2))
                scope.to_ns = scope.from_ns + 1 + draw(s, s->v->end_ns - scope.from_ns + 3000);
        return scope;
}

static struct query_cursor *open_cursor(struct setting *s, const struct query_scope *scope,
                                        enum query_rows rows) {
        struct query_cursor *c = NULL;
        struct err e = {0};

        if (query_cursor_open(s->q, scope, rows, &c, &e) < 0)
                fail_msg("%s: %s", query_rows_name(rows), e.text);
        return c;
}

static const struct query_row *next(struct query_cursor *c) {
        const struct query_row *row = NULL;
        struct err e = {0};
        int r = query_cursor_next(c, &row, &e);

        assert_true(r >= 0);
        return r > 0 ? row : NULL;
}

static void expect_end(struct query_cursor *c) {
        assert_null(next(c));
        assert_null(next(c)); /* and stays there */
        assert_true(query_cursor_is_exact(c));
        query_cursor_free(c);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void expect_same_block(const struct query_block *x, const struct query_block *y) {
        assert_int_equal(x->seq, y->seq);
        assert_int_equal(x->time_ns, y->time_ns);
        assert_int_equal(x->size_bytes, y->size_bytes);
        assert_int_equal(x->n_blocks, y->n_blocks);
        assert_int_equal(x->age_ns, y->age_ns);
        assert_int_equal(x->thread, y->thread);
        assert_int_equal(x->stack, y->stack);
        assert_int_equal(x->is_live, y->is_live);
}

struct block_check {
        struct setting *s;
        struct query_cursor *c;
};

static bool expect_block(void *ctx, const struct query_block *b) {
        struct block_check *k = ctx;
        const struct query_row *row = next(k->c);
        uint64_t end_ns = k->s->release_ns[b->seq];

        assert_non_null(row);
        expect_same_block(&row->block, b);
        assert_int_equal(b->time_ns, k->s->begin_ns[b->seq]);
        assert_int_equal(b->is_live, end_ns == UINT64_MAX);
        if (end_ns != UINT64_MAX)
                assert_int_equal(b->age_ns, end_ns - b->time_ns);
        k->s->n_told++;
        return true;
}

static void check_blocks(struct setting *s, const struct query_scope *scope) {
        struct block_check k = {s, open_cursor(s, scope, QUERY_ROWS_BLOCKS)};
        struct err e = {0};

        assert_int_equal(query_blocks(s->q, scope, expect_block, &k, &e), 0);
        expect_end(k.c);
}

/* ---- events ---------------------------------------------------------------------------------- */

enum { NO_FILTER, BY_SIZE, BY_FUNCTION, BY_LIFETIME, N_FILTERS };
enum { MIN_BYTES = 64, MAX_BYTES = 512, MIN_LIFE_NS = 200000 };

static bool stack_has(const struct setting *s, uint32_t stack, char letter) {
        for (; stack; stack = s->v->stacks[stack].parent) {
                uint32_t location = s->v->stacks[stack].location;

                for (size_t i = 0; i < s->v->n_symbols; i++)
                        if (s->v->symbols[i].location == location && !s->v->symbols[i].guess &&
                            strchr(s->v->symbols[i].function, letter))
                                return true;
        }
        return false;
}

static bool block_is_selected(const struct setting *s, unsigned filter, uint64_t seq,
                              uint32_t stack, uint64_t size_bytes) {
        uint64_t end_ns = s->release_ns[seq];
        const struct trace_process_info *p = &s->v->processes[s->owner[seq]];

        switch (filter) {
        case BY_SIZE: return size_bytes >= MIN_BYTES && size_bytes <= MAX_BYTES;
        case BY_FUNCTION: return stack_has(s, stack, 'e');
        case BY_LIFETIME:
                if (end_ns == UINT64_MAX)
                        end_ns = MIN(p->has_end ? p->end.end_ns : UINT64_MAX, s->v->end_ns);
                return end_ns >= s->begin_ns[seq] + MIN_LIFE_NS;
        default: return true;
        }
}

static bool event_is_selected(const struct setting *s, unsigned filter,
                              const struct trace_event *e) {
        if (filter == NO_FILTER)
                return true;
        if (e->op == TRACE_REALLOC &&
            block_is_selected(s, filter, e->old_seq, e->old_stack, e->old_size_bytes))
                return true;
        if (e->op == TRACE_OTHER && e->other != TRACE_IMPLICIT_FREE)
                return false;
        return block_is_selected(s, filter, e->seq, e->stack, e->size_bytes);
}

static void check_events(struct setting *s, struct query_scope scope, unsigned filter) {
        _cleanup_(query_filter_freep) struct query_filter *f = query_filter_new();
        struct query_cursor *c;
        struct err e = {0};

        if (filter == BY_SIZE)
                assert_int_equal(query_filter_add(f, "size", "64..512", &e), 0);
        if (filter == BY_FUNCTION)
                assert_int_equal(query_filter_add(f, "function", "e", &e), 0);
        if (filter == BY_LIFETIME) {
                assert_int_equal(query_filter_add(f, "lifetime", "200us..", &e), 0);
                scope.process = 0; /* whose blocks nobody inherited before */
        }
        scope.filter = filter == NO_FILTER ? NULL : f;
        c = open_cursor(s, &scope, QUERY_ROWS_EVENTS);
        for (size_t i = 0; i < s->v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                assert_int_equal(trace_read_events(s->t, i, &events, &n, &e), 0);
                for (size_t k = 0; k < n; k++) {
                        const struct trace_event *x = &events[k];
                        const struct query_row *row;

                        if (x->time_ns < scope.from_ns || x->time_ns >= scope.to_ns ||
                            (scope.process != QUERY_ALL && process_of(s, x) != scope.process) ||
                            !event_is_selected(s, filter, x))
                                continue;
                        row = next(c);
                        assert_non_null(row);
                        assert_int_equal(row->event.process, process_of(s, x));
                        assert_int_equal(row->event.event->time_ns, x->time_ns);
                        assert_int_equal(row->event.event->op, x->op);
                        assert_int_equal(row->event.event->seq, x->seq);
                        assert_int_equal(row->event.event->thread, x->thread);
                        assert_int_equal(row->event.event->size_bytes, x->size_bytes);
                        s->n_told++;
                }
        }
        expect_end(c);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void check_sites(struct setting *s, const struct query_scope *scope) {
        struct query_cursor *c = open_cursor(s, scope, QUERY_ROWS_SITES);
        struct err e = {0};

        for (size_t i = 0; i < s->v->n_slices; i++) {
                const struct trace_slice_info *info = trace_slice(s->t, i);
                const struct trace_site *rows;
                size_t n;

                if (info->end_ns <= scope->from_ns || info->begin_ns >= scope->to_ns)
                        continue;
                assert_int_equal(trace_read_sites(s->t, i, &rows, &n, &e), 0);
                for (size_t k = 0; k < n; k++) {
                        const struct query_row *row;

                        if (scope->process != QUERY_ALL && rows[k].process != scope->process)
                                continue;
                        row = next(c);
                        assert_non_null(row);
                        assert_int_equal(row->site.slice_idx, i);
                        assert_int_equal(row->site.begin_ns, info->begin_ns);
                        assert_int_equal(row->site.is_whole, info->begin_ns >= scope->from_ns &&
                                                                     info->end_ns <= scope->to_ns);
                        assert_memory_equal(row->site.site, &rows[k], sizeof(rows[k]));
                        s->n_told++;
                }
        }
        expect_end(c);
}

static void check_arrays(struct setting *s, const struct query_scope *scope) {
        struct query_cursor *mappings = open_cursor(s, scope, QUERY_ROWS_MAPPINGS);
        struct query_cursor *threads = open_cursor(s, scope, QUERY_ROWS_THREADS);
        struct query_cursor *notes = open_cursor(s, scope, QUERY_ROWS_NOTES);
        _cleanup_free_ struct query_mapping *m = NULL;
        _cleanup_free_ struct query_thread *t = NULL;
        struct query_mapped sum;
        struct err e = {0};
        bool has_figures;
        size_t n;

        assert_int_equal(query_mappings(s->q, scope, &m, &n, &sum, &e), 0);
        for (size_t i = 0; i < n; i++)
                assert_memory_equal(&next(mappings)->mapping, &m[i], sizeof(m[i]));
        expect_end(mappings);
        assert_int_equal(query_threads(s->q, scope, UINT64_MAX, &t, &n, &has_figures, &e), 0);
        for (size_t i = 0; i < n; i++) {
                const struct query_thread *x = &next(threads)->thread;

                assert_int_equal(x->thread, t[i].thread);
                assert_int_equal(x->n_allocs, t[i].n_allocs);
                assert_int_equal(x->n_foreign_frees, t[i].n_foreign_frees);
        }
        expect_end(threads);
        for (size_t i = 0; i < s->v->n_notes; i++)
                if (s->v->notes[i].time_ns >= scope->from_ns &&
                    s->v->notes[i].time_ns < scope->to_ns)
                        assert_string_equal(next(notes)->note->text, s->v->notes[i].text);
        expect_end(notes);
}

static void check_calls(struct setting *s, const struct query_scope *scope) {
        struct query_cursor *c = open_cursor(s, scope, QUERY_ROWS_MAPPING_CALLS);
        const struct trace_mapping *m;
        struct err e = {0};
        size_t n;

        assert_int_equal(trace_read_mappings(s->t, &m, &n, &e), 0);
        assert_int_equal(n, 40);
        for (size_t i = 0; i < n; i++)
                if (m[i].time_ns >= scope->from_ns && m[i].time_ns < scope->to_ns &&
                    (scope->process == QUERY_ALL || m[i].process == scope->process))
                        assert_memory_equal(next(c)->mapping_call, &m[i], sizeof(m[i]));
        expect_end(c);
}

static void test_rows(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 8; seed++) {
                struct setting s;

                setting_init(&s, seed);
                for (unsigned i = 0; i < 12; i++) {
                        struct query_scope scope = draw_scope(&s);

                        check_blocks(&s, &scope);
                        check_events(&s, scope, (unsigned)draw(&s, N_FILTERS));
                        check_sites(&s, &scope);
                        check_arrays(&s, &scope);
                        check_calls(&s, &scope);
                }
                assert_true(s.n_told > 1000);
                setting_done(&s);
        }
}

/* Several at once, in different places of the trace and with different filters, while the query is asked. */
static void test_several(void **state) {
        enum { N_CURSORS = 6 };
        _cleanup_(query_filter_freep) struct query_filter *f = query_filter_new();
        struct query_cursor *c[N_CURSORS];
        uint64_t alone[N_CURSORS] = {0}, together[N_CURSORS] = {0};
        struct query_scope scopes[N_CURSORS];
        bool is_over[N_CURSORS] = {0};
        struct err e = {0};
        struct setting s;

        (void)state;
        setting_init(&s, 2);
        assert_int_equal(query_filter_add(f, "size", "64..512", &e), 0);
        for (unsigned i = 0; i < N_CURSORS; i++) {
                const struct query_row *row;

                scopes[i] = draw_scope(&s);
                scopes[i].filter = i % 2 ? f : NULL;
                c[i] = open_cursor(&s, &scopes[i],
                                   i / 2 % 2 ? QUERY_ROWS_EVENTS : QUERY_ROWS_BLOCKS);
                while ((row = next(c[i])))
                        alone[i] = alone[i] * 31 +
                                   (i / 2 % 2 ? row->event.event->seq : row->block.seq);
                query_cursor_free(c[i]);
                c[i] = open_cursor(&s, &scopes[i],
                                   i / 2 % 2 ? QUERY_ROWS_EVENTS : QUERY_ROWS_BLOCKS);
        }
        for (unsigned n_over = 0; n_over < N_CURSORS;) {
                unsigned i = (unsigned)draw(&s, N_CURSORS);
                const struct query_row *row;

                if (is_over[i])
                        continue;
                row = next(c[i]);
                is_over[i] = !row;
                n_over += !row;
                if (row)
                        together[i] = together[i] * 31 +
                                      (i / 2 % 2 ? row->event.event->seq : row->block.seq);
                if (draw(&s, 100) == 0) {
                        _cleanup_(query_answer_freep) struct query_answer *a = NULL;

                        assert_int_equal(query_ask(s.q, &scopes[draw(&s, N_CURSORS)], &a, &e), 0);
                }
        }
        for (unsigned i = 0; i < N_CURSORS; i++) {
                assert_int_equal(alone[i], together[i]);
                query_cursor_free(c[i]);
        }
        setting_done(&s);
}

static void test_refused(void **state) {
        _cleanup_(query_filter_freep) struct query_filter *f = query_filter_new();
        struct query_cursor *c = NULL;
        struct query_scope scope;
        struct err e = {0};
        struct setting s;

        (void)state;
        setting_init(&s, 1);
        scope = query_whole(s.q);
        scope.filter = f;
        assert_int_equal(query_filter_add(f, "size", "64..512", &e), 0);
        assert_int_equal(query_cursor_open(s.q, &scope, QUERY_ROWS_SITES, &c, &e), -EINVAL);
        assert_null(c);
        setting_done(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_several),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
