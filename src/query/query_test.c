/* SPDX-License-Identifier: MIT */
/* The query layer against brute force, on random traces and random windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "query_test.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

static void make_trace(const struct fabric_options *o, unsigned n_events) {
        struct fabric *f = fabric_new(TRACE_PATH, o);

        fabric_run(f, n_events);
        fabric_end(f);
}

static unsigned n_compared, n_unsure;

/* Returns the number of differences. Where heirs released blocks of one call path in a slice that the window cuts, answers say
 * that they are not exact. */
static unsigned compare_scope(const char *path, struct query *q, const struct query_scope *scope,
                              uint64_t seed) {
        _cleanup_(query_answer_freep) struct query_answer *expected = NULL, *actual = NULL;
        struct err e = {0};
        unsigned n;

        if (brute_ask(path, scope, &expected, &e) < 0 || query_ask(q, scope, &actual, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
        }
        n_compared++;
        if (brute_passes_on && scope->process == QUERY_ALL && !actual->is_exact) {
                n_unsure++;
                return 0;
        }
        n = brute_compare(expected, actual, strcmp(path, TRACE_PATH) == 0, stderr) +
            !actual->is_exact;
        if (n)
                fprintf(stderr, "%s: seed %llu, process %d, window [%llu, %llu)\n", path,
                        (unsigned long long)seed, (int)scope->process,
                        (unsigned long long)scope->from_ns, (unsigned long long)scope->to_ns);
        return n;
}

static bool goes_on; /* and counts the seeds that differ */
static unsigned n_differing;

static void check_scope(struct query *q, const struct query_scope *scope, uint64_t seed) {
        unsigned n = compare_scope(TRACE_PATH, q, scope, seed);

        n_differing += n > 0;
        if (!goes_on)
                assert_int_equal(n, 0);
}

/* Where a process ended, or next to it. */
static uint64_t draw_end(struct query *q, uint64_t *random) {
        static const uint64_t behind_ns[] = {0, 1, 500, 1000};
        const struct trace_view *v = query_view(q);
        const struct trace_process_info *p = &v->processes[draw(random, v->n_processes)];

        return (p->has_end ? p->end.end_ns : v->end_ns) +
               behind_ns[draw(random, ARRAY_SIZE(behind_ns))];
}

static struct query_scope draw_scope(struct query *q, uint64_t *random) {
        struct query_scope scope = query_whole(q);
        uint64_t end_ns = query_view(q)->end_ns, edge_ns;

        if (draw(random, 2))
                scope.process = (uint32_t)draw(random, query_view(q)->n_processes);
        if (draw(random, 3) == 0)
                scope.process = QUERY_ALL;
        if (draw(random, 4))
                scope.from_ns = draw(random, end_ns / 1000 + 5) * 1000;
        if (draw(random, 4))
                scope.to_ns = scope.from_ns + 1 +
                              draw(random, end_ns - MIN(end_ns, scope.from_ns) + 3000);
        if (draw(random, 5) == 0 && (edge_ns = draw_end(q, random)) < scope.to_ns)
                scope.from_ns = edge_ns;
        if (draw(random, 5) == 0 && (edge_ns = draw_end(q, random)) > scope.from_ns)
                scope.to_ns = edge_ns;
        return scope;
}

static void check_windows(const struct fabric_options *o, unsigned n_events, unsigned n_windows) {
        _cleanup_(query_freep) struct query *q = NULL;
        uint64_t random = o->seed + 7;
        struct query_scope scope;
        struct err e = {0};

        make_trace(o, n_events);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        check_scope(q, &scope, o->seed);
        for (unsigned i = 1; i < n_windows; i++) {
                scope = draw_scope(q, &random);
                check_scope(q, &scope, o->seed);
        }
}

/* `query_test TRACE…`: the same on recorded traces. */
static int check_recorded(int n_paths, char **paths) {
        unsigned n_differences = 0;

        brute_passes_on = true;
        for (int i = 0; i < n_paths; i++) {
                _cleanup_(query_freep) struct query *q = NULL;
                uint64_t random = 1;
                struct err e = {0};
                struct query_scope scope;

                if (query_open(paths[i], &q, &e) < 0) {
                        fprintf(stderr, "%s\n", e.text);
                        return 1;
                }
                scope = query_whole(q);
                n_differences += compare_scope(paths[i], q, &scope, 0);
                scope.process = QUERY_ALL;
                n_differences += compare_scope(paths[i], q, &scope, 0);
                for (unsigned k = 0; k < 12; k++) {
                        scope = draw_scope(q, &random);
                        n_differences += compare_scope(paths[i], q, &scope, k);
                }
        }
        printf("%u differences in %d trace(s)\n", n_differences, n_paths);
        return n_differences != 0;
}

static void test_one_process(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 5 + (unsigned)seed,
                                           .slice_events = 60,
                                           .max_processes = 1,
                                           .max_threads = 1 + (unsigned)seed % 4,
                                           .checkpoint_every = (unsigned)seed % 5,
                                           .max_step_us = (unsigned)seed % 3,
                                           .by_maker = seed / 3 % 2};

                check_windows(&o, 1500, 40);
        }
}

enum books { BOOKS_PLAIN, BOOKS_PASS_ON, BOOKS_BY_MAKER, N_BOOKS };

static void check_processes(uint64_t seed, enum books books) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 12,
                                   .slice_events = 20 + (unsigned)(seed * 7 % 90),
                                   .max_processes = 2 + (unsigned)seed % 7,
                                   .max_threads = 3,
                                   .checkpoint_every = (unsigned)seed % 4,
                                   .max_step_us = 3,
                                   .by_maker = books == BOOKS_BY_MAKER,
                                   .passes_on = books != BOOKS_PLAIN};

        brute_passes_on = o.passes_on;
        check_windows(&o, 1200, 40);
        brute_passes_on = false;
}

static void test_processes(void **state) {
        (void)state;
        for (uint64_t seed = 100; seed < 124; seed++)
                check_processes(seed, (enum books)(seed % N_BOOKS));
}

/* `query_test --seeds FIRST END`: the same for many, with all books. */
static int check_seeds(uint64_t first, uint64_t end) {
        static const char *const names[N_BOOKS] = {"plain books", "books that pass on",
                                                   "the maker's"};
        unsigned n_seeds = 0;

        goes_on = true;
        for (enum books books = 0; books < N_BOOKS; books++) {
                unsigned n_bad = 0;

                n_compared = n_unsure = 0;
                for (uint64_t seed = first; seed < end; seed++) {
                        n_differing = 0;
                        check_processes(seed, books);
                        n_bad += n_differing > 0;
                }
                printf("%s: %u seeds differ; %u windows, %u of them not known exactly\n",
                       names[books], n_bad, n_compared, n_unsure);
                n_seeds += n_bad;
        }
        return n_seeds != 0;
}

/* Blocks outlive their processes in children, in trees of forks whose roots end first or last. */
static void test_heirs(void **state) {
        (void)state;
        brute_passes_on = true;
        n_compared = n_unsure = 0;
        for (uint64_t seed = 200; seed < 224; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 4 + (unsigned)seed % 9,
                                           .slice_events = 20 + (unsigned)(seed * 7 % 90),
                                           .max_processes = 3 + (unsigned)seed % 9,
                                           .max_threads = 2,
                                           .checkpoint_every = (unsigned)seed % 4,
                                           .max_step_us = 3,
                                           .by_maker = seed / 3 % 2,
                                           .passes_on = true};

                check_windows(&o, 1200, 40);
        }
        brute_passes_on = false;
        assert_true(n_unsure < n_compared / 4);
}

static void test_edges(void **state) {
        struct fabric_options o = {.seed = 5,
                                   .n_stacks = 4,
                                   .slice_events = 50,
                                   .max_processes = 1,
                                   .max_threads = 2,
                                   .checkpoint_every = 3,
                                   .max_step_us = 2};
        _cleanup_(query_freep) struct query *q = NULL;
        struct query_scope scope;
        struct err e = {0};

        (void)state;
        make_trace(&o, 400);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        scope.to_ns = 0; /* nothing */
        check_scope(q, &scope, o.seed);
        scope.to_ns = UINT64_MAX;
        scope.from_ns = query_view(q)->end_ns + 1000000; /* behind the end */
        check_scope(q, &scope, o.seed);
}

/* A window inside a large trace is answered from a small part of it. */
static void test_bytes_read(void **state) {
        struct fabric_options o = {.seed = 9,
                                   .n_stacks = 40,
                                   .slice_events = 4000,
                                   .max_processes = 1,
                                   .max_threads = 2,
                                   .checkpoint_every = 20,
                                   .max_step_us = 2};
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope;
        struct err e = {0};
        uint64_t opened_bytes, read_bytes;

        (void)state;
        make_trace(&o, 400000);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        opened_bytes = query_bytes_read(q);
        scope = query_whole(q);
        scope.from_ns = query_view(q)->end_ns / 2;
        scope.to_ns = query_view(q)->end_ns * 3 / 5;
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        read_bytes = query_bytes_read(q) - opened_bytes;
        print_message("window: %llu of %llu bytes read, %llu at opening\n",
                      (unsigned long long)read_bytes, (unsigned long long)query_view(q)->file_bytes,
                      (unsigned long long)opened_bytes);
        assert_true(read_bytes * 100 < query_view(q)->file_bytes * 8);
        check_scope(q, &scope, o.seed);
}

#define BOUNDED_PATH "query_test_bounded.silt"

static void make_bounded_trace(const struct fabric_options *o, unsigned n_events,
                               uint64_t max_bytes) {
        struct fabric *f = fabric_new(BOUNDED_PATH, o);

        trace_writer_bound(fabric_writer(f), max_bytes);
        fabric_run(f, n_events);
        assert_true(trace_writer_n_thinned(fabric_writer(f)) > 0);
        fabric_end(f);
}

struct bounded_sums {
        unsigned n_exact, n_moved;
};

/* Asks the bounded trace, and brute force on its whole twin about the window that was answered. */
static void check_bounded_scope(struct query *q, const struct query_scope *scope, uint64_t seed,
                                struct bounded_sums *sums) {
        _cleanup_(query_answer_freep) struct query_answer *expected = NULL, *actual = NULL;
        struct err e = {0};

        assert_int_equal(query_ask(q, scope, &actual, &e), 0);
        assert_int_equal(brute_ask(TRACE_PATH, &actual->scope, &expected, &e), 0);
        if (scope->from_ns >= query_view(q)->detail_from_ns)
                assert_false(actual->is_moved);
        sums->n_moved += actual->is_moved;
        if (scope->from_ns < scope->to_ns)
                assert_true(actual->scope.from_ns < actual->scope.to_ns);
        /* It may not be: of a block that is released in a slice that an edge cuts nobody may know any more whether it was
         * temporary, or inherited. */
        if (!actual->is_exact)
                return;
        sums->n_exact++;
        if (brute_compare(expected, actual, true, stderr)) {
                fprintf(stderr, "seed %llu, process %d, window [%llu, %llu) for [%llu, %llu)\n",
                        (unsigned long long)seed, (int)scope->process,
                        (unsigned long long)actual->scope.from_ns,
                        (unsigned long long)actual->scope.to_ns, (unsigned long long)scope->from_ns,
                        (unsigned long long)scope->to_ns);
                fail();
        }
}

/* A bounded trace answers for the nearest window that it knows, and then exactly. */
static void test_bounded(void **state) {
        struct bounded_sums sums = {0};

        (void)state;
        for (uint64_t seed = 200; seed < 212; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 10,
                                           .slice_events = 40,
                                           .max_processes = 1 + (unsigned)seed % 3,
                                           .max_threads = 2,
                                           .checkpoint_every = (unsigned)seed % 5,
                                           .max_step_us = 3,
                                           .by_maker = seed % 6 == 0};
                _cleanup_(query_freep) struct query *q = NULL;
                uint64_t random = seed;
                struct query_scope scope;
                struct err e = {0};

                make_trace(&o, 4000);
                make_bounded_trace(&o, 4000, 40000);
                assert_int_equal(query_open(BOUNDED_PATH, &q, &e), 0);
                assert_true(query_view(q)->file_bytes <= 40000);
                assert_true(query_view(q)->n_dropped_events > 0);
                for (uint32_t p = 0; p <= query_view(q)->n_processes; p++) {
                        bool is_all = p == query_view(q)->n_processes;
                        unsigned n_before = sums.n_exact;

                        scope = (struct query_scope){is_all ? QUERY_ALL : p, 0, UINT64_MAX};
                        check_bounded_scope(q, &scope, seed, &sums);
                        assert_int_equal(sums.n_exact, n_before + 1);
                }
                for (unsigned i = 0; i < 60; i++) {
                        scope = draw_scope(q, &random);
                        check_bounded_scope(q, &scope, seed, &sums);
                }
        }
        print_message("%u exact, %u moved\n", sums.n_exact, sums.n_moved);
        assert_true(sums.n_exact > 400 && sums.n_moved > 200);
        remove(BOUNDED_PATH);
}

struct block_sum {
        uint64_t n, bytes, n_live, live_bytes, last_ns;
};

static bool add_block(void *ctx, const struct query_block *b) {
        struct block_sum *s = ctx;

        assert_true(b->time_ns >= s->last_ns);
        s->last_ns = b->time_ns;
        s->n++;
        s->bytes += b->size_bytes;
        s->n_live += b->is_live;
        s->live_bytes += b->is_live ? b->size_bytes : 0;
        return true;
}

static void test_blocks(void **state) {
        struct fabric_options o = {.seed = 31,
                                   .n_stacks = 9,
                                   .slice_events = 30,
                                   .max_processes = 1,
                                   .max_threads = 3,
                                   .checkpoint_every = 4,
                                   .max_step_us = 2};
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope;
        struct block_sum sum = {0}, part = {0};
        struct err e = {0};

        (void)state;
        make_trace(&o, 3000);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(query_blocks(q, &scope, add_block, &sum, &e), 0);
        assert_int_equal(sum.n, a->totals.n_allocs);
        assert_int_equal(sum.bytes, a->totals.alloc_bytes);
        assert_int_equal(sum.n_live, a->totals.end_blocks);
        assert_int_equal(sum.live_bytes, a->totals.end_bytes);

        scope.from_ns = query_view(q)->end_ns / 3;
        scope.to_ns = query_view(q)->end_ns / 2;
        query_answer_free(a);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(query_blocks(q, &scope, add_block, &part, &e), 0);
        assert_int_equal(part.n, a->totals.n_allocs);
        assert_int_equal(part.bytes, a->totals.alloc_bytes);
}

static void test_timeline(void **state) {
        struct fabric_options o = {.seed = 77,
                                   .n_stacks = 9,
                                   .slice_events = 100,
                                   .max_processes = 4,
                                   .max_threads = 3,
                                   .checkpoint_every = 4,
                                   .max_step_us = 5};
        struct query_column fine[64], coarse[64];
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope;
        struct err e = {0};
        uint64_t highest = 0, highest_coarse = 0;

        (void)state;
        make_trace(&o, 5000);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(query_timeline(q, &scope, 64, UINT64_MAX, fine, &e), 0);
        assert_int_equal(query_timeline(q, &scope, 64, 0, coarse, &e), 0);
        for (size_t i = 0; i < 64; i++) {
                highest = MAX(highest, fine[i].live_bytes);
                highest_coarse = MAX(highest_coarse, coarse[i].live_bytes);
                assert_true(fine[i].low_live_bytes <= fine[i].live_bytes);
                assert_true(fine[i].begin_ns < fine[i].end_ns);
        }
        assert_int_equal(highest, a->totals.peak_bytes);
        assert_int_equal(highest_coarse, a->totals.peak_bytes);

        scope.process = QUERY_ALL;
        query_answer_free(a);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(query_timeline(q, &scope, 64, UINT64_MAX, fine, &e), 0);
        assert_int_equal(query_timeline(q, &scope, 64, 0, coarse, &e), 0);
        highest = highest_coarse = 0;
        for (size_t i = 0; i < 64; i++) {
                highest = MAX(highest, fine[i].live_bytes);
                highest_coarse = MAX(highest_coarse, coarse[i].live_bytes);
        }
        assert_int_equal(highest, a->totals.peak_bytes);
        assert_int_equal(highest_coarse, a->totals.peak_bytes);
}

static void test_threads(void **state) {
        struct fabric_options o = {.seed = 3,
                                   .n_stacks = 9,
                                   .slice_events = 100,
                                   .max_processes = 3,
                                   .max_threads = 4,
                                   .checkpoint_every = 4,
                                   .max_step_us = 5};
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_free_ struct query_thread *threads = NULL;
        struct query_scope scope;
        struct err e = {0};
        uint64_t n_allocs = 0, n_frees = 0, n_temporary = 0;
        bool has_figures;
        size_t n;

        (void)state;
        make_trace(&o, 4000);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(query_threads(q, &scope, UINT64_MAX, &threads, &n, &has_figures, &e), 0);
        assert_true(has_figures);
        assert_int_equal(n, a->totals.n_threads);
        for (size_t i = 0; i < n; i++) {
                n_allocs += threads[i].n_allocs;
                n_frees += threads[i].n_frees;
                n_temporary += threads[i].n_temporary;
        }
        assert_int_equal(n_allocs, a->totals.n_allocs);
        assert_int_equal(n_frees, a->totals.n_frees);
        assert_int_equal(n_temporary, a->totals.n_temporary);
}

static void put_mapping(struct fabric *f, uint32_t process, uint32_t stack,
                        enum trace_mapping_op op, uint64_t address, uint64_t size_bytes,
                        uint64_t old_address, uint64_t old_size_bytes) {
        struct trace_mapping m = {.process = process,
                                  .thread = TRACE_NO_THREAD,
                                  .stack = stack,
                                  .op = (uint8_t)op,
                                  .time_ns = fabric_now_ns(f),
                                  .address = address,
                                  .size_bytes = size_bytes,
                                  .old_address = old_address,
                                  .old_size_bytes = old_size_bytes};

        trace_put_mapping(fabric_writer(f), &m);
        fabric_wait(f, 10);
}

struct mapped {
        uint64_t n_calls, peak_bytes, end_bytes;
};

static void check_mapped(const struct query_mapping *rows, size_t n, uint32_t stack,
                         struct mapped expected) {
        for (size_t i = 0; i < n; i++)
                if (rows[i].stack == stack) {
                        assert_int_equal(rows[i].n_calls, expected.n_calls);
                        assert_int_equal(rows[i].peak_bytes, expected.peak_bytes);
                        assert_int_equal(rows[i].end_bytes, expected.end_bytes);
                        return;
                }
        fail();
}

static void test_mappings(void **state) {
        const struct fabric_options o = {.seed = 1, .max_processes = 2, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0),
                 b = fabric_frame(f, 0, "/bin/x", "b", "", 0), child;
        struct query_scope scope;
        struct query_mapped sum;
        struct query_mapping *rows;
        struct err e = {0};
        struct query *q;
        size_t n;

        (void)state;
        fabric_alloc(f, 0, fabric_thread(f, 0, "main"), a, 1);
        put_mapping(f, 0, a, TRACE_MMAP, 0x10000, 0x8000 - 5, 0, 0); /* rounded up to pages */
        put_mapping(f, 0, 0, TRACE_MUNMAP, 0x12000, 0x2000, 0, 0);   /* a hole in the middle */
        put_mapping(f, 0, b, TRACE_MMAP, 0x11000, 0x2000, 0,
                    0); /* over a's second page and the hole */
        put_mapping(f, 0, b, TRACE_MREMAP, 0x40000, 0x6000, 0x14000,
                    0x4000); /* a's tail moves to b, and grows */
        put_mapping(f, 0, a, TRACE_BRK, 0x93000, 0, 0x90000, 0);
        put_mapping(f, 0, a, TRACE_BRK, 0x91000, 0, 0x93000, 0);
        child = fabric_fork(f, 0);
        put_mapping(f, child, 0, TRACE_MUNMAP, 0, 0x80000, 0, 0); /* all but the break */
        fabric_end(f);

        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = (struct query_scope){0, 0, UINT64_MAX};
        assert_int_equal(query_mappings(q, &scope, &rows, &n, &sum, &e), 0);
        check_mapped(rows, n, a, (struct mapped){2, 0x8000, 0x2000});
        check_mapped(rows, n, b, (struct mapped){2, 0x8000, 0x8000});
        assert_int_equal(sum.end_bytes, 0xa000);
        assert_int_equal(sum.peak_bytes, 0xc000);
        free(rows);

        scope.process = child;
        assert_int_equal(query_mappings(q, &scope, &rows, &n, &sum, &e), 0);
        check_mapped(rows, n, a, (struct mapped){0, 0x2000, 0x1000});
        assert_int_equal(sum.end_bytes, 0x1000);
        free(rows);

        scope.process = QUERY_ALL; /* inherited ones count once */
        assert_int_equal(query_mappings(q, &scope, &rows, &n, &sum, &e), 0);
        assert_int_equal(sum.end_bytes, 0xa000);
        free(rows);
        query_free(q);
}

static void test_metrics(void **state) {
        struct query_site sites[] = {
                {.stack = 1,
                 .f.n_allocs = 10,
                 .f.alloc_bytes = 100,
                 .f.end_bytes = 50,
                 .f.begin_bytes = 60,
                 .f.n_temporary = 1},
                {.stack = 2,
                 .f.n_allocs = 5,
                 .f.alloc_bytes = 500,
                 .f.end_bytes = 10,
                 .f.begin_bytes = 0,
                 .f.n_temporary = 5},
        };
        enum query_metric m;
        struct err e = {0};

        (void)state;
        query_sort_sites(sites, 2, QUERY_ALLOCATED);
        assert_int_equal(sites[0].stack, 2);
        query_sort_sites(sites, 2, QUERY_COUNT);
        assert_int_equal(sites[0].stack, 1);
        query_sort_sites(sites, 2, QUERY_GROWTH);
        assert_int_equal(sites[0].stack, 2);
        assert_int_equal(query_figure_of(&sites[1].f, QUERY_GROWTH).value, -10);
        assert_false(query_figure_of(&sites[0].f, QUERY_TEMPORARY).bytes_are_estimated);
        assert_true(query_figure_of(&sites[1].f, QUERY_TEMPORARY).bytes_are_estimated);
        assert_int_equal(query_metric_parse("growth", &m, &e), 0);
        assert_int_equal(m, QUERY_GROWTH);
        assert_true(query_metric_parse("size", &m, &e) < 0);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_process), cmocka_unit_test(test_processes),
                cmocka_unit_test(test_heirs),       cmocka_unit_test(test_edges),
                cmocka_unit_test(test_bytes_read),  cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_timeline),    cmocka_unit_test(test_threads),
                cmocka_unit_test(test_mappings),    cmocka_unit_test(test_metrics),
                cmocka_unit_test(test_bounded),
        };

        if (argc > 3 && strcmp(argv[1], "--seeds") == 0)
                return check_seeds(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
        if (argc > 1)
                return check_recorded(argc - 1, argv + 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
