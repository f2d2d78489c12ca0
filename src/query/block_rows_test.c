/* SPDX-License-Identifier: MIT */
/* Rows of blocks and events of random traces, against lists made event by event; and what was alive against the figures of windows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/block_rows.h"
#include "query/event_rows.h"
#include "query/testing/fabric.h"

#define TRACE_PATH "block_rows_test.silt"

enum { N_SEEDS = 12, N_ASKED = 60, SMALL_CAP = 7 };

struct setting {
        struct query *q;
        const struct trace_view *v;
        struct trace_reader *t;
        uint64_t random;
        struct query_block_row *blocks; /* by seq: as plain reading tells them */
        size_t n_blocks;
        struct trace_event *events; /* of blocks, as they happened */
        size_t n_events;
};

static uint64_t draw(struct setting *s, uint64_t below) {
        s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (s->random >> 33) % below : 0;
}

static uint32_t process_of(const struct setting *s, uint32_t thread) {
        return s->v->threads[thread].start.process;
}

/* ---- the plain way ----------------------------------------------------------------------------- */

/* The release of a block is its own process's; temporary if nothing the thread allocated lies between. */
static void note_release(struct setting *s, const struct trace_event *e, uint64_t seq) {
        struct query_block_row *b = &s->blocks[seq];

        if (process_of(s, e->thread) != process_of(s, b->thread))
                return;
        b->freed_ns = e->time_ns;
        b->freed_stack = e->op == TRACE_REALLOC ? e->stack : e->free_stack;
        if (e->op == TRACE_OTHER)
                return;
        b->freed_by = e->thread;
        b->is_temporary = e->thread == b->thread;
        for (size_t i = seq + 1; i < s->n_blocks && b->is_temporary; i++)
                b->is_temporary = s->blocks[i].thread != e->thread;
}

static void note_event(struct setting *s, const struct trace_event *e) {
        if (e->op == TRACE_OTHER && e->other != TRACE_IMPLICIT_FREE)
                return;
        s->events[s->n_events++] = *e;
        if (e->op == TRACE_FREE || e->op == TRACE_OTHER)
                note_release(s, e, e->seq);
        if (e->op == TRACE_REALLOC)
                note_release(s, e, e->old_seq);
        if (e->op == TRACE_FREE || e->op == TRACE_OTHER)
                return;
        assert_int_equal(e->seq, s->n_blocks);
        s->blocks[s->n_blocks++] = (struct query_block_row){.seq = e->seq,
                                                            .time_ns = e->time_ns,
                                                            .size_bytes = e->size_bytes,
                                                            .address = e->address,
                                                            .freed_ns = UINT64_MAX,
                                                            .stack = e->stack,
                                                            .thread = e->thread,
                                                            .n_blocks = e->n_blocks,
                                                            .freed_by = TRACE_NO_THREAD,
                                                            .by_realloc = e->op == TRACE_REALLOC};
}

static void setting_init(struct setting *s, uint64_t seed, bool passes_on) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 10,
                                         .slice_events = 50,
                                         .max_processes = seed % 3 + 1,
                                         .max_threads = 3,
                                         .checkpoint_every = 5,
                                         .max_step_us = 3,
                                         .passes_on = passes_on};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct err e = {0};

        *s = (struct setting){.random = seed};
        fabric_run(f, 1500);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &s->q, &e), 0);
        assert_int_equal(trace_reader_open(TRACE_PATH, &s->t, &e), 0);
        s->v = trace_view(s->t);
        s->blocks = calloc(s->v->n_events + 1, sizeof(s->blocks[0]));
        s->events = calloc(s->v->n_events + 1, sizeof(s->events[0]));
        for (size_t i = 0; i < s->v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                if (!trace_slice(s->t, i)->has_events)
                        continue;
                assert_int_equal(trace_read_events(s->t, i, &events, &n, &e), 0);
                for (size_t k = 0; k < n; k++)
                        note_event(s, &events[k]);
        }
        assert_true(s->n_blocks > 300);
}

static void setting_done(struct setting *s) {
        query_free(s->q);
        trace_reader_free(s->t);
        free(s->blocks);
        free(s->events);
}

/* ---- what to ask ------------------------------------------------------------------------------- */

static void draw_range(struct setting *s, uint64_t most, struct query_value_range *ret) {
        uint64_t a = draw(s, most + 1), b = draw(s, most + 1);

        if (draw(s, 3))
                return;
        switch (draw(s, 4)) {
        case 0: ret->low = a; break;
        case 1: ret->high = a; break;
        case 2: *ret = (struct query_value_range){a, a}; break;
        default: *ret = (struct query_value_range){a, b}; break; /* also none at all */
        }
}

static struct query_block_ask draw_ask(struct setting *s) {
        struct query_block_ask ask = QUERY_BLOCK_ASK_ALL;

        if (draw(s, 3) == 0)
                ask.process = (uint32_t)draw(s, s->v->n_processes);
        draw_range(s, s->v->end_ns, &ask.ranges[QUERY_BLOCK_TIME]);
        draw_range(s, s->n_blocks, &ask.ranges[QUERY_BLOCK_SEQ]);
        draw_range(s, s->v->n_stacks, &ask.ranges[QUERY_BLOCK_STACK]);
        draw_range(s, 1000, &ask.ranges[QUERY_BLOCK_BYTES]);
        draw_range(s, s->v->n_threads, &ask.ranges[QUERY_BLOCK_THREAD]);
        draw_range(s, s->v->n_processes, &ask.ranges[QUERY_BLOCK_PROCESS]);
        ask.with_release = draw(s, 2);
        if (ask.with_release) {
                draw_range(s, s->v->end_ns / 10, &ask.ranges[QUERY_BLOCK_LIFETIME]);
                draw_range(s, s->v->end_ns, &ask.ranges[QUERY_BLOCK_FREED]);
        }
        return ask;
}

static uint64_t plain_lifetime_ns(const struct setting *s, const struct query_block_row *b) {
        const struct trace_process_info *p = &s->v->processes[process_of(s, b->thread)];
        uint64_t end_ns = p->has_end ? MIN(p->end.end_ns, s->v->end_ns) : s->v->end_ns;

        if (b->freed_ns != UINT64_MAX)
                end_ns = b->freed_ns;
        return end_ns > b->time_ns ? end_ns - b->time_ns : 0;
}

static bool is_in(const struct query_value_range *r, uint64_t x) {
        return x >= r->low && x <= r->high;
}

static bool is_expected(const struct setting *s, const struct query_block_ask *ask,
                        const struct query_block_row *b) {
        const struct query_value_range *r = ask->ranges;
        uint32_t process = process_of(s, b->thread);

        return (ask->process == QUERY_ALL || ask->process == process) &&
               is_in(&r[QUERY_BLOCK_TIME], b->time_ns) && is_in(&r[QUERY_BLOCK_SEQ], b->seq) &&
               is_in(&r[QUERY_BLOCK_STACK], b->stack) &&
               is_in(&r[QUERY_BLOCK_BYTES], b->size_bytes) &&
               is_in(&r[QUERY_BLOCK_THREAD], b->thread) &&
               is_in(&r[QUERY_BLOCK_PROCESS], process) &&
               is_in(&r[QUERY_BLOCK_FREED], b->freed_ns) &&
               is_in(&r[QUERY_BLOCK_LIFETIME], plain_lifetime_ns(s, b));
}

/* ---- the tests --------------------------------------------------------------------------------- */

static void expect_row(const struct setting *s, const struct query_block_ask *ask,
                       const struct query_block_row *row) {
        struct query_block_row b = s->blocks[row->seq];

        assert_true(is_expected(s, ask, &b));
        if (ask->only_seq)
                return;
        assert_int_equal(row->time_ns, b.time_ns);
        assert_int_equal(row->size_bytes, b.size_bytes);
        assert_int_equal(row->stack, b.stack);
        assert_int_equal(row->thread, b.thread);
        assert_int_equal(row->n_blocks, b.n_blocks);
        assert_int_equal(row->by_realloc, b.by_realloc);
        if (!ask->with_release)
                return;
        assert_int_equal(row->freed_ns, b.freed_ns);
        assert_int_equal(row->freed_by, b.freed_by);
        assert_int_equal(row->freed_stack, b.freed_stack);
        assert_int_equal(row->is_temporary, b.is_temporary);
        assert_int_equal(query_block_lifetime_ns(s->q, row), plain_lifetime_ns(s, &b));
}

/* Each block that is asked for once, no other, whatever the size of the batches. */
static void check_blocks(struct setting *s, const struct query_block_ask *ask) {
        _cleanup_(query_block_rows_freep) struct query_block_rows *rows = NULL;
        size_t cap = draw(s, 2) ? SMALL_CAP : 300, n = 0, n_expected = 0;
        _cleanup_free_ bool *is_told = calloc(s->n_blocks, 1);
        struct query_block_row batch[300];
        struct err e = {0};
        int r;

        query_block_rows_open(s->q, ask, &rows);
        while ((r = query_block_rows_fill(rows, batch, cap, &e)) > 0) {
                assert_true((size_t)r <= cap);
                for (int i = 0; i < r; i++) {
                        assert_true(batch[i].seq < s->n_blocks && !is_told[batch[i].seq]);
                        is_told[batch[i].seq] = true;
                        expect_row(s, ask, &batch[i]);
                }
                n += (size_t)r;
        }
        assert_int_equal(r, 0);
        assert_true(query_block_rows_is_exact(rows));
        for (size_t i = 0; i < s->n_blocks; i++)
                n_expected += is_expected(s, ask, &s->blocks[i]);
        assert_int_equal(n, n_expected);
}

static void test_blocks(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
                struct query_block_ask all = QUERY_BLOCK_ASK_ALL;
                struct setting s;

                setting_init(&s, seed, seed % 2);
                check_blocks(&s, &all);
                all.only_seq = true; /* counted, of one process too */
                check_blocks(&s, &all);
                all.process = 0;
                check_blocks(&s, &all);
                all = QUERY_BLOCK_ASK_ALL;
                all.with_release = true;
                check_blocks(&s, &all);
                for (int i = 0; i < N_ASKED; i++) {
                        struct query_block_ask ask = draw_ask(&s);

                        check_blocks(&s, &ask);
                }
                setting_done(&s);
        }
}

static bool is_event_expected(const struct setting *s, const struct query_event_ask *ask,
                              const struct trace_event *e) {
        const struct query_value_range *r = ask->ranges;
        uint32_t process = process_of(s, e->thread);

        return (ask->process == QUERY_ALL || ask->process == process) &&
               is_in(&r[QUERY_EVENT_TIME], e->time_ns) && is_in(&r[QUERY_EVENT_BLOCK], e->seq) &&
               is_in(&r[QUERY_EVENT_BYTES], e->size_bytes) &&
               is_in(&r[QUERY_EVENT_STACK], e->stack) && is_in(&r[QUERY_EVENT_THREAD], e->thread) &&
               is_in(&r[QUERY_EVENT_PROCESS], process);
}

/* The same events in the same order. */
static void check_events(struct setting *s, const struct query_event_ask *ask) {
        _cleanup_(query_event_rows_freep) struct query_event_rows *rows = NULL;
        struct trace_event batch[SMALL_CAP];
        size_t next = 0;
        struct err e = {0};
        int r;

        query_event_rows_open(s->q, ask, &rows);
        while ((r = query_event_rows_fill(rows, batch, SMALL_CAP, &e)) > 0)
                for (int i = 0; i < r; i++, next++) {
                        while (next < s->n_events && !is_event_expected(s, ask, &s->events[next]))
                                next++;
                        assert_true(next < s->n_events);
                        assert_memory_equal(&batch[i], &s->events[next], sizeof(batch[i]));
                }
        assert_int_equal(r, 0);
        for (; next < s->n_events; next++)
                assert_false(is_event_expected(s, ask, &s->events[next]));
}

static void test_events(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
                struct setting s;

                setting_init(&s, seed, false);
                for (int i = 0; i < N_ASKED; i++) {
                        struct query_block_ask drawn = draw_ask(&s);
                        struct query_event_ask ask = {
                                .process = drawn.process,
                                .ranges = {
                                        [QUERY_EVENT_TIME] = drawn.ranges[QUERY_BLOCK_TIME],
                                        [QUERY_EVENT_BLOCK] = drawn.ranges[QUERY_BLOCK_SEQ],
                                        [QUERY_EVENT_BYTES] = drawn.ranges[QUERY_BLOCK_BYTES],
                                        [QUERY_EVENT_STACK] = drawn.ranges[QUERY_BLOCK_STACK],
                                        [QUERY_EVENT_THREAD] = drawn.ranges[QUERY_BLOCK_THREAD],
                                        [QUERY_EVENT_PROCESS] = drawn.ranges[QUERY_BLOCK_PROCESS],
                                }};

                        check_events(&s, &ask);
                }
                setting_done(&s);
        }
}

struct live_sum {
        uint64_t n_blocks, bytes;
};

static bool add_live(void *ctx, const struct query_live_block *b) {
        struct live_sum *sum = ctx;

        sum->n_blocks += b->n_blocks;
        sum->bytes += b->size_bytes * b->n_blocks;
        return true;
}

/* What is alive where a window ends, block by block. */
static void test_live(void **state) {
        unsigned n_some = 0;

        (void)state;
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
                struct setting s;

                setting_init(&s, seed, seed % 2);
                for (int i = 0; i < N_ASKED; i++) {
                        struct query_scope scope = {
                                .process = draw(&s, 2) ? QUERY_ALL
                                                       : (uint32_t)draw(&s, s.v->n_processes),
                                .to_ns = i ? draw(&s, s.v->end_ns + 2000) : s.v->end_ns};
                        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
                        struct live_sum sum = {0};
                        bool is_exact;
                        struct err e = {0};

                        assert_int_equal(query_ask(s.q, &scope, &a, &e), 0);
                        assert_int_equal(query_live_blocks(s.q, scope.process, scope.to_ns, i % 2,
                                                           add_live, &sum, &is_exact, &e),
                                         0);
                        if (scope.process != QUERY_ALL || s.v->n_processes == 1)
                                assert_true(is_exact);
                        assert_int_equal(is_exact, sum.n_blocks == a->totals.end_blocks &&
                                                           sum.bytes == a->totals.end_bytes);
                        n_some += is_exact && sum.n_blocks > 0;
                }
                setting_done(&s);
        }
        assert_true(n_some > N_SEEDS * N_ASKED / 4);
}

static int by_stack(const void *a, const void *b) {
        const struct query_site *x = a, *y = b;

        return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Takes what a block adds to its call path's peak away again. */
static bool take_from_site(void *ctx, const struct query_live_block *b) {
        struct query_answer *a = ctx;
        struct query_site *site = bsearch(&(struct query_site){.stack = b->stack}, a->sites,
                                          a->n_sites, sizeof(a->sites[0]), by_stack);

        assert_non_null(site);
        site->f.peak_blocks -= b->n_blocks;
        site->f.peak_bytes -= (int64_t)(b->size_bytes * b->n_blocks);
        return true;
}

/* What made the peak, block by block and by call path, also where other events have its time. */
static void test_peak(void **state) {
        unsigned n_shared = 0;

        (void)state;
        for (uint64_t seed = 1; seed <= 4 * N_SEEDS; seed++) {
                struct setting s;

                setting_init(&s, seed, false);
                for (uint32_t p = 0; p <= s.v->n_processes; p++) {
                        struct query_scope scope = {.process = p < s.v->n_processes ? p : QUERY_ALL,
                                                    .to_ns = UINT64_MAX};
                        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
                        struct live_sum behind = {0};
                        bool is_exact;
                        struct err e = {0};

                        assert_int_equal(query_ask(s.q, &scope, &a, &e), 0);
                        qsort(a->sites, a->n_sites, sizeof(a->sites[0]), by_stack);
                        assert_int_equal(query_peak_blocks(s.q, scope.process, p % 2,
                                                           take_from_site, a, &is_exact, &e),
                                         0);
                        assert_true(is_exact);
                        for (size_t i = 0; i < a->n_sites; i++) {
                                assert_int_equal(a->sites[i].f.peak_blocks, 0);
                                assert_int_equal(a->sites[i].f.peak_bytes, 0);
                        }
                        assert_int_equal(query_live_blocks(s.q, scope.process,
                                                           a->totals.peak_ns + 1, false, add_live,
                                                           &behind, &is_exact, &e),
                                         0);
                        n_shared += behind.bytes != a->totals.peak_bytes;
                }
                setting_done(&s);
        }
        assert_true(n_shared > 0);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
        unsigned *n_left = ctx;

        (void)done, (void)total;
        return *n_left && --*n_left;
}

static void test_stop(void **state) {
        _cleanup_(query_block_rows_freep) struct query_block_rows *rows = NULL;
        struct query_block_ask all = QUERY_BLOCK_ASK_ALL;
        struct query_block_row batch[300];
        unsigned n_left = 6;
        struct setting s;
        struct err e = {0};
        int r;

        (void)state;
        setting_init(&s, 1, false);
        query_set_progress(s.q, stop, &n_left);
        query_block_rows_open(s.q, &all, &rows);
        while ((r = query_block_rows_fill(rows, batch, ARRAY_SIZE(batch), &e)) > 0)
                ;
        assert_int_equal(r, -ECANCELED);
        query_set_progress(s.q, NULL, NULL);
        assert_true(query_block_rows_fill(rows, batch, ARRAY_SIZE(batch), &e) > 0);
        setting_done(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_blocks), cmocka_unit_test(test_events),
                cmocka_unit_test(test_live),   cmocka_unit_test(test_peak),
                cmocka_unit_test(test_stop),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
