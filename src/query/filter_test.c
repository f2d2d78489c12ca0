/* SPDX-License-Identifier: MIT */
/* Random filters and windows against brute force, on random traces and on recorded ones.
 *
 *   filter_test                            the unit test; SILT_FILTER_QUESTIONS=10000 asks more
 *   filter_test N TRACE...                 N questions to each of these traces */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/query_internal.h"
#include "query/testing/brute.h"
#include "query/testing/brute_filter.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "filter_test.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

/* ---- random questions ------------------------------------------------------------------------ */

struct question {
        struct query_scope scope;
        struct brute_filter brute;
        char values[BRUTE_MAX_CONDITIONS][80];
        struct query_filter *filter;
};

/* Any microsecond, often one around which a process begins: the one asked about, where there is one. */
static uint64_t draw_time(uint64_t *random, const struct trace_view *v, uint32_t process) {
        uint64_t any = draw(random, v->n_processes),
                 start_ns = v->processes[process < v->n_processes ? process : any].start.start_ns;

        if (start_ns > 5000 && draw(random, 4) == 0)
                return (start_ns / 1000 - 2 + draw(random, 5)) * 1000;
        return draw(random, v->end_ns / 1000 + 5) * 1000;
}

static void draw_window(uint64_t *random, const struct trace_view *v, uint32_t process,
                        uint64_t *ret_from, uint64_t *ret_to) {
        *ret_from = draw_time(random, v, process);
        *ret_to = *ret_from + (1 + draw(random, v->end_ns / 1000 + 5)) * 1000;
        if (draw(random, 4) == 0) {
                uint64_t time_ns = draw_time(random, v, process);

                *ret_to = MAX(*ret_from + 1000, time_ns);
        }
}

/* A few letters of a name that occurs, or one of a fixed list. */
static void draw_pattern(uint64_t *random, const struct trace_view *v, const char *kind,
                         char *ret) {
        static const char *const fixed[] = {
                "main",        "^w",         "weave|beat", "shuttle<[01]>", "Loom::",
                "^$",          ".",          "[A-Z]",      "_main$",        "(ar|ef)[tp]?$",
                "closure[}]+", "l+i?b{1,2}", "[^a-z:]+",   "src/.*\\.",     "even|odd$"};
        const char *name = "";
        size_t n = 0, want = 2 + draw(random, 5);

        if (draw(random, 2) && v->n_symbols) {
                const struct trace_symbol *s = &v->symbols[draw(random, v->n_symbols)];

                name = strstr(kind, "file") ? s->file : s->function;
                if (strstr(kind, "module"))
                        name = v->modules[draw(random, v->n_modules)].path;
        }
        name += draw(random, strlen(name) + 1);
        while (n < want && ((name[n] >= 'a' && name[n] <= 'z') || name[n] == '_'))
                n++;
        if (n >= 2)
                snprintf(ret, 80, "%.*s", (int)n, name);
        else
                snprintf(ret, 80, "%s", fixed[draw(random, sizeof(fixed) / sizeof(fixed[0]))]);
}

static uint64_t draw_size(uint64_t *random) {
        return draw(random, 1 + (1ull << draw(random, 14)));
}

static void draw_condition(uint64_t *random, const struct trace_view *v, bool may_need_events,
                           struct brute_condition *c, char *value) {
        static const char *const kinds[] = {"function",     "module",    "file",     "not-function",
                                            "not-module",   "not-file",  "process",  "asked-by",
                                            "not-asked-by", "site",      "not-site", "thread",
                                            "lifetime",     "allocated", "alive-at", "freed-before",
                                            "size"};

        memset(c, 0, sizeof(*c));
        c->kind = kinds[draw(random, may_need_events ? 17 : 11)];
        c->max = UINT64_MAX;
        if (strstr("not-function not-module not-file not-asked-by", c->kind)) {
                draw_pattern(random, v, c->kind, value);
                c->pattern = value;
        } else if (strcmp(c->kind, "process") == 0) {
                c->n_ids = 1 + (unsigned)draw(random, 2);
                c->ids[0] = v->processes[0].start.pid;
                c->ids[1] = v->processes[draw(random, v->n_processes)].start.pid;
                snprintf(value, 80, c->n_ids == 2 ? "%llu,%llu" : "%llu",
                         (unsigned long long)c->ids[0], (unsigned long long)c->ids[1]);
        } else if (strstr("not-site", c->kind)) {
                c->n_ids = 1 + (unsigned)draw(random, 2);
                c->ids[0] = draw(random, v->n_stacks);
                c->ids[1] = draw(random, v->n_stacks);
                snprintf(value, 80, c->n_ids == 2 ? "%llu,%llu" : "%llu",
                         (unsigned long long)c->ids[0], (unsigned long long)c->ids[1]);
        } else if (strcmp(c->kind, "thread") == 0 && draw(random, 2)) {
                draw_pattern(random, v, "", value);
                if (draw(random, 2))
                        strcpy(value, "worker-(even|x)");
                c->pattern = value;
        } else if (strcmp(c->kind, "thread") == 0) {
                c->n_ids = 1;
                c->ids[0] = v->threads[draw(random, v->n_threads)].start.tid;
                snprintf(value, 80, "%llu", (unsigned long long)c->ids[0]);
        } else if (strcmp(c->kind, "size") == 0) {
                c->min = draw_size(random);
                c->max = c->min + draw_size(random);
                snprintf(value, 80, "%llu..%llu", (unsigned long long)c->min,
                         (unsigned long long)c->max);
                if (draw(random, 4) == 0) {
                        c->max = UINT64_MAX;
                        snprintf(value, 80, "%llu..", (unsigned long long)c->min);
                }
        } else if (strcmp(c->kind, "lifetime") == 0 || strcmp(c->kind, "allocated") == 0) {
                draw_window(random, v, QUERY_ALL, &c->min, &c->max);
                if (c->kind[0] == 'l' && draw(random, 2))
                        c->min /= 1000000, c->min *= 1000;
                snprintf(value, 80, "%lluus..%lluus", (unsigned long long)c->min / 1000,
                         (unsigned long long)c->max / 1000);
                if (draw(random, 3) == 0) {
                        c->min = 0;
                        snprintf(value, 80, "..%lluus", (unsigned long long)c->max / 1000);
                }
        } else {
                c->min = draw_time(random, v, QUERY_ALL);
                snprintf(value, 80, "%lluus", (unsigned long long)c->min / 1000);
        }
}

static void question_draw(struct question *x, const struct query *q, uint64_t *random) {
        const struct trace_view *v = query_view(q);
        bool may_need_events = draw(random, 3) > 0;
        struct err e = {0};

        *x = (struct question){.scope = query_whole(q), .filter = query_filter_new()};
        if (draw(random, 2))
                x->scope.process = (uint32_t)draw(random, v->n_processes);
        if (draw(random, 3) == 0)
                x->scope.process = QUERY_ALL;
        if (draw(random, 3))
                draw_window(random, v, x->scope.process, &x->scope.from_ns, &x->scope.to_ns);
        x->brute.n = 1 + (draw(random, 3) == 0) + (draw(random, 6) == 0);
        for (unsigned i = 0; i < x->brute.n; i++) {
                struct brute_condition *c = &x->brute.conditions[i];

                draw_condition(random, v, may_need_events, c, x->values[i]);
                if (query_filter_add(x->filter, c->kind, x->values[i], &e) < 0) {
                        fprintf(stderr, "%s %s: %s\n", c->kind, x->values[i], e.text);
                        abort();
                }
        }
        x->scope.filter = x->filter;
}

static void question_print(const struct question *x, const char *path, uint64_t seed) {
        fprintf(stderr, "%s: seed %llu, process %d, window [%llu, %llu), %s\n", path,
                (unsigned long long)seed, (int)x->scope.process,
                (unsigned long long)x->scope.from_ns, (unsigned long long)x->scope.to_ns,
                query_filter_text(x->filter));
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct block_list {
        struct brute_lives *lives;
        uint64_t n, n_live, sum;
};

static void mix(struct block_list *l, uint64_t seq, bool is_live) {
        l->n++;
        l->n_live += is_live;
        l->sum = (l->sum ^ seq) * 1099511628211ull;
}

static void add_brute_block(void *ctx, uint64_t seq, uint64_t end_ns) {
        mix(ctx, seq, end_ns == UINT64_MAX);
}

static bool add_block(void *ctx, const struct query_block *b) {
        mix(ctx, b->seq, b->is_live);
        return true;
}

static unsigned compare_blocks(struct query *q, struct brute_lives *lives,
                               const struct question *x) {
        struct block_list expected = {0}, actual = {0};
        struct err e = {0};

        brute_lives_each_block(lives, &x->scope, &x->brute, add_brute_block, &expected);
        if (query_blocks(q, &x->scope, add_block, &actual, &e) < 0)
                return 1;
        if (expected.n == actual.n && expected.n_live == actual.n_live &&
            expected.sum == actual.sum)
                return 0;
        fprintf(stderr, "blocks: expected %llu (%llu live), got %llu (%llu live)\n",
                (unsigned long long)expected.n, (unsigned long long)expected.n_live,
                (unsigned long long)actual.n, (unsigned long long)actual.n_live);
        return 1;
}

enum { N_COLUMNS = 37 };

static unsigned compare_columns(struct query *q, struct brute_lives *lives,
                                const struct question *x, bool has_exact_ends) {
        struct query_column exact[N_COLUMNS], coarse[N_COLUMNS];
        uint64_t expected[N_COLUMNS], highest = 0, highest_coarse = 0;
        struct query_scope scope = x->scope;
        struct err e = {0};
        unsigned n = 0;

        /* timelines end with the recording */
        scope.to_ns = MAX(MIN(scope.to_ns, query_view(q)->end_ns), scope.from_ns + 1);
        brute_lives_columns(lives, &scope, &x->brute, N_COLUMNS, expected);
        if (query_timeline(q, &x->scope, N_COLUMNS, UINT64_MAX, exact, &e) < 0 ||
            query_timeline(q, &x->scope, N_COLUMNS, 0, coarse, &e) < 0)
                return 1;
        for (size_t i = 0; i < N_COLUMNS; i++) {
                if (exact[i].live_bytes != expected[i])
                        fprintf(stderr, "column %zu: expected %llu, got %llu\n", i,
                                (unsigned long long)expected[i],
                                (unsigned long long)exact[i].live_bytes);
                n += exact[i].live_bytes != expected[i];
                highest = MAX(highest, expected[i]);
                highest_coarse = MAX(highest_coarse, coarse[i].live_bytes);
        }
        if (!has_exact_ends && scope.process == QUERY_ALL)
                return n;
        if (highest_coarse > highest)
                fprintf(stderr, "coarse columns: %llu, above %llu\n",
                        (unsigned long long)highest_coarse, (unsigned long long)highest);
        return n + (highest_coarse > highest);
}

static unsigned compare_threads(struct query *q, const struct question *x,
                                const struct query_answer *a) {
        _cleanup_free_ struct query_thread *threads = NULL;
        uint64_t n_allocs = 0, n_frees = 0, n_temporary = 0, bytes = 0;
        struct err e = {0};
        bool has_figures;
        size_t n;

        if (query_threads(q, &x->scope, UINT64_MAX, &threads, &n, &has_figures, &e) < 0 ||
            !has_figures)
                return 1;
        for (size_t i = 0; i < n; i++) {
                n_allocs += threads[i].n_allocs;
                bytes += threads[i].alloc_bytes;
                n_frees += threads[i].n_frees;
                n_temporary += threads[i].n_temporary;
        }
        /* releases that were made up are no thread's */
        if (n_allocs == a->totals.n_allocs && bytes == a->totals.alloc_bytes &&
            n_frees <= a->totals.n_frees && n_temporary == a->totals.n_temporary)
                return 0;
        fprintf(stderr, "threads: %llu allocations, expected %llu\n", (unsigned long long)n_allocs,
                (unsigned long long)a->totals.n_allocs);
        return 1;
}

struct tally {
        unsigned n_questions, n_from_history, n_empty, n_differences;
};

/* A recorder learns late of processes that end, and counts them in the sum of all for longer. */
static void forget_peak(struct query_answer *a) {
        a->totals.peak_bytes = a->totals.peak_blocks = 0;
        for (size_t p = 0; p < a->n_processes; p++)
                a->processes[p].peak_bytes = a->processes[p].peak_blocks = 0;
        for (size_t i = 0; i < a->n_sites; i++)
                a->sites[i].f.peak_bytes = a->sites[i].f.peak_blocks = 0;
}

/* Brute force knows no heirs: what was live where a process ended before its child, and left it blocks, it cannot tell of all
 * together. Filters on single blocks know none either. heirs_test.c has them. */
static bool has_heirs(const struct query *q, const struct question *x) {
        const struct trace_view *v = query_view(q);

        if (x->scope.process != QUERY_ALL || query_filter_needs_events(x->filter))
                return false;
        for (uint32_t i = 0; i < v->n_processes; i++) {
                uint32_t parent = v->processes[i].start.parent;

                if (parent < v->n_processes && v->processes[parent].has_end &&
                    (!v->processes[i].has_end ||
                     v->processes[i].end.end_ns > v->processes[parent].end.end_ns))
                        return true;
        }
        return false;
}

static void forget_live(struct query_answer *a) {
        forget_peak(a);
        a->totals.begin_bytes = a->totals.begin_blocks = 0;
        a->totals.end_bytes = a->totals.end_blocks = 0;
        for (size_t p = 0; p < a->n_processes; p++) {
                a->processes[p].begin_bytes = a->processes[p].begin_blocks = 0;
                a->processes[p].end_bytes = a->processes[p].end_blocks = 0;
        }
        for (size_t i = 0; i < a->n_sites; i++) {
                a->sites[i].f.begin_bytes = a->sites[i].f.begin_blocks = 0;
                a->sites[i].f.end_bytes = a->sites[i].f.end_blocks = 0;
        }
}

/* Sites of which nothing is left to compare. */
static void drop_idle(struct query_answer *a) {
        size_t n = 0;

        for (size_t i = 0; i < a->n_sites; i++)
                if (!query_figures_are_idle(&a->sites[i].f))
                        a->sites[n++] = a->sites[i];
        a->n_sites = n;
}

static void ask(struct query *q, struct brute_lives *lives, const char *path, uint64_t seed,
                uint64_t *random, struct tally *t) {
        _cleanup_(query_answer_freep) struct query_answer *expected = NULL, *actual = NULL;
        bool is_recorded = strcmp(path, TRACE_PATH) != 0, knows_live;
        struct question x;
        struct err e = {0};
        unsigned n;

        question_draw(&x, q, random);
        brute_lives_move_edge(lives, &x.scope.from_ns);
        brute_lives_move_edge(lives, &x.scope.to_ns);
        expected = brute_lives_ask(lives, &x.scope, &x.brute);
        if (query_ask(q, &x.scope, &actual, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                abort();
        }
        if (is_recorded && x.scope.process == QUERY_ALL) {
                forget_peak(expected);
                forget_peak(actual);
        }
        knows_live = !is_recorded || !has_heirs(q, &x);
        if (!knows_live) {
                forget_live(expected), drop_idle(expected);
                forget_live(actual), drop_idle(actual);
        }
        n = brute_compare(expected, actual, false, stderr);
        /* of all together it depends on who outlived whom, which this old kind of trace says nothing about */
        n += x.scope.process != QUERY_ALL && !actual->is_exact;
        n += compare_blocks(q, lives, &x);
        n += compare_threads(q, &x, expected);
        n += knows_live ? compare_columns(q, lives, &x, !is_recorded) : 0;
        if (n)
                question_print(&x, path, seed);
        t->n_questions++;
        t->n_differences += n > 0;
        t->n_from_history += !query_filter_needs_events(x.filter);
        t->n_empty += expected->n_sites == 0;
        query_filter_free(x.filter);
}

static void ask_many(const char *path, uint64_t seed, unsigned n, struct tally *t) {
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(brute_lives_freep) struct brute_lives *lives = NULL;
        uint64_t random = seed;
        struct err e = {0};

        if (query_open(path, &q, &e) < 0 || brute_lives_new(path, &lives, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                abort();
        }
        while (n-- > 0)
                ask(q, lives, path, seed, &random, t);
}

static void tally_print(const struct tally *t) {
        print_message("%u questions, %u from history, %u about nothing, %u wrong\n", t->n_questions,
                      t->n_from_history, t->n_empty, t->n_differences);
}

static void test_random_traces(void **state) {
        const char *asked = getenv("SILT_FILTER_QUESTIONS");
        unsigned n_questions = asked ? (unsigned)strtoul(asked, NULL, 10) : 1000;
        struct tally t = {0};

        (void)state;
        for (uint64_t seed = 1; t.n_questions < n_questions; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 5 + (unsigned)seed % 30,
                                           .slice_events = 20 + (unsigned)(seed * 7 % 90),
                                           .max_processes = seed % 3 ? 1 + (unsigned)seed % 12 : 1,
                                           .max_threads = 1 + (unsigned)seed % 4,
                                           .checkpoint_every = (unsigned)seed % 4,
                                           .max_step_us = 1 + (unsigned)seed % 3,
                                           .with_names = true,
                                           .by_maker =
                                                   seed % 3 == 0,   /* brute force knows no heirs */
                                           .with_paths = seed % 2}; /* has guesses */
                struct fabric *f = fabric_new(TRACE_PATH, &o);

                fabric_run(f, 600 + (unsigned)(seed * 131 % 1500));
                fabric_end(f);
                ask_many(TRACE_PATH, seed, 20, &t);
        }
        tally_print(&t);
        assert_int_equal(t.n_differences, 0);
        assert_true(t.n_empty * 2 < t.n_questions);
        remove(TRACE_PATH);
}

/* ---- what it costs --------------------------------------------------------------------------- */

struct cost {
        uint64_t read_bytes, n_event_reads;
};

static struct cost ask_cost(const char *kind, const char *value, uint64_t from_ns, uint64_t to_ns) {
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_filter_freep) struct query_filter *f = query_filter_new();
        struct query_scope scope;
        struct err e = {0};
        uint64_t opened_bytes;

        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        opened_bytes = query_bytes_read(q);
        scope = query_whole(q);
        scope.from_ns = from_ns;
        scope.to_ns = to_ns;
        if (kind) {
                assert_int_equal(query_filter_add(f, kind, value, &e), 0);
                scope.filter = f;
        }
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_true(a->totals.n_allocs > 0);
        return (struct cost){query_bytes_read(q) - opened_bytes, q->n_event_reads};
}

/* A condition on the call path reads what the window reads without it: of events only the slices at its edges. */
static void test_bytes_read(void **state) {
        struct fabric_options o = {.seed = 9,
                                   .n_stacks = 40,
                                   .slice_events = 8000,
                                   .max_processes = 1,
                                   .max_threads = 2,
                                   .checkpoint_every = 20,
                                   .max_step_us = 2,
                                   .with_names = true};
        _cleanup_(query_freep) struct query *q = NULL;
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct cost plain, path, inside, events;
        uint64_t end_ns, from_ns, to_ns;
        struct err e = {0};
        size_t n_slices;

        (void)state;
        fabric_run(f, 1000000);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        end_ns = query_view(q)->end_ns;
        n_slices = query_view(q)->n_slices;
        plain = ask_cost(NULL, NULL, end_ns / 2 + 500, end_ns * 3 / 5 + 500);
        path = ask_cost("function", "main|shuttle", end_ns / 2 + 500, end_ns * 3 / 5 + 500);
        /* edges between slices: no events at all */
        from_ns = trace_slice(q->reader, n_slices / 2)->begin_ns;
        to_ns = trace_slice(q->reader, n_slices * 2 / 3)->begin_ns;
        inside = ask_cost("not-function", "shuttle<1>", from_ns, to_ns);
        events = ask_cost("size", "10..", from_ns, to_ns);
        print_message(
                "%zu slices, %llu bytes; window %llu bytes, %llu slices of events; with a path %llu, %llu; between "
                "slices %llu, %llu; by size %llu, %llu\n",
                n_slices, (unsigned long long)query_view(q)->file_bytes,
                (unsigned long long)plain.read_bytes, (unsigned long long)plain.n_event_reads,
                (unsigned long long)path.read_bytes, (unsigned long long)path.n_event_reads,
                (unsigned long long)inside.read_bytes, (unsigned long long)inside.n_event_reads,
                (unsigned long long)events.read_bytes, (unsigned long long)events.n_event_reads);
        assert_int_equal(path.read_bytes, plain.read_bytes);
        assert_int_equal(path.n_event_reads, plain.n_event_reads);
        assert_true(path.read_bytes * 20 < query_view(q)->file_bytes);
        assert_true(path.n_event_reads <= 8); /* two slices, each for the state and for the peak */
        assert_int_equal(inside.n_event_reads, 0);
        assert_true(inside.read_bytes * 20 < query_view(q)->file_bytes);
        assert_true(events.n_event_reads > n_slices / 2); /* the count counts */
        remove(TRACE_PATH);
}

/* ---- guesses --------------------------------------------------------------------------------- */

static uint64_t count_allocs(struct query *q, const char *kind, const char *value) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_filter *f = query_filter_new();
        struct query_scope scope = query_whole(q);
        struct err e = {0};

        scope.filter = f;
        assert_int_equal(query_filter_add(f, kind, value, &e), 0);
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        query_filter_free(f);
        return a->totals.n_allocs;
}

/* A name that is only the nearest symbol is as good as none. */
static void test_guesses(void **state) {
        struct fabric_options o = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t main_stack, near_stack, thread = fabric_thread(f, 0, "main");
        _cleanup_(query_freep) struct query *q = NULL;
        struct err e = {0};

        (void)state;
        main_stack = fabric_frame(f, 0, "/bin/x", "main", "x.c", 3);
        near_stack = fabric_frame(f, main_stack, "/lib/libx.so", "near", "", 0);
        fabric_guess(f);
        fabric_alloc(f, 0, thread, main_stack, 10);
        fabric_alloc(f, 0, thread, near_stack, 20);
        fabric_alloc(f, 0, thread, near_stack, 30);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        assert_int_equal(count_allocs(q, "function", "main"), 3);
        assert_int_equal(count_allocs(q, "module", "libx"), 2); /* its place is known */
        assert_int_equal(count_allocs(q, "function", "near"), 0);
        assert_int_equal(count_allocs(q, "not-function", "near"), 3);
        assert_int_equal(count_allocs(q, "asked-by", "."), 1);
        assert_int_equal(count_allocs(q, "not-asked-by", "near"), 3);
        /* … and its place is its name, as reports show it */
        assert_int_equal(count_allocs(q, "function", "^libx\\.so\\+0x[0-9a-f]+$"), 2);
        assert_int_equal(count_allocs(q, "asked-by", "^libx\\.so\\+0x"), 2);
        assert_int_equal(count_allocs(q, "not-function", "^libx\\.so\\+0x"), 1);
        assert_int_equal(count_allocs(q, "function", "^x\\+0x"), 0); /* main has a name */
        remove(TRACE_PATH);
}

/* ---- traces that lost their old events ------------------------------------------------------- */

#define BOUNDED_PATH "filter_test_bounded.silt"

static void make_twins(const struct fabric_options *o, unsigned n_events) {
        struct fabric *whole = fabric_new(TRACE_PATH, o), *bounded = fabric_new(BOUNDED_PATH, o);

        trace_writer_bound(fabric_writer(bounded), 40000);
        fabric_run(whole, n_events);
        fabric_run(bounded, n_events);
        fabric_end(whole);
        fabric_end(bounded);
}

/* Conditions on single blocks know those allocated since the detail begins, and say that this is not all. */
static void test_bounded(void **state) {
        unsigned n_asked = 0, n_moved = 0;

        (void)state;
        for (uint64_t seed = 300; seed < 312; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 10,
                                           .slice_events = 40,
                                           .max_processes = 1 + (unsigned)seed % 3,
                                           .max_threads = 2,
                                           .checkpoint_every = (unsigned)seed % 5,
                                           .max_step_us = 3,
                                           .with_names = true};
                _cleanup_(query_freep) struct query *q = NULL;
                _cleanup_(brute_lives_freep) struct brute_lives *lives = NULL;
                uint64_t random = seed, detail_ns;
                struct err e = {0};

                make_twins(&o, 4000);
                assert_int_equal(query_open(BOUNDED_PATH, &q, &e), 0);
                assert_int_equal(brute_lives_new(TRACE_PATH, &lives, &e), 0);
                detail_ns = query_view(q)->detail_from_ns;
                assert_true(detail_ns > 0);
                for (unsigned i = 0; i < 20; i++) {
                        _cleanup_(query_answer_freep) struct query_answer *expected = NULL,
                                                                          *actual = NULL;
                        struct question x;

                        question_draw(&x, q, &random);
                        if (query_filter_needs_events(x.filter)) {
                                struct brute_condition *since = &x.brute.conditions[x.brute.n++];

                                since->kind = "allocated";
                                since->min = detail_ns;
                                since->max = UINT64_MAX;
                                assert_int_equal(query_ask(q, &x.scope, &actual, &e), 0);
                                expected = brute_lives_ask(lives, &actual->scope, &x.brute);
                                assert_false(actual->is_exact);
                                assert_true(actual->known_from_ns == detail_ns);
                                assert_true(actual->scope.from_ns >= detail_ns);
                                if (brute_compare(expected, actual, false, stderr)) {
                                        question_print(&x, BOUNDED_PATH, seed);
                                        fail();
                                }
                                n_asked++;
                                n_moved += actual->is_moved;
                        }
                        query_filter_free(x.filter);
                }
        }
        print_message("%u questions, %u moved\n", n_asked, n_moved);
        assert_true(n_asked > 50 && n_moved > 20);
        remove(TRACE_PATH);
        remove(BOUNDED_PATH);
}

/* A filter that leaves out nothing ends where all do, also where the window cuts slices whose events are gone. */
static void test_bounded_timeline(void **state) {
        enum { N = 24 };
        unsigned n_cut = 0;

        (void)state;
        for (uint64_t seed = 320; seed < 332; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 10,
                                           .slice_events = 40,
                                           .max_processes = 1,
                                           .max_threads = 2,
                                           .max_step_us = 3,
                                           .with_names = true};
                struct query_filter *f = query_filter_new();
                _cleanup_(query_freep) struct query *q = NULL;
                uint64_t random = seed, detail_ns;
                struct err e = {0};

                make_twins(&o, 4000);
                assert_int_equal(query_open(BOUNDED_PATH, &q, &e), 0);
                assert_int_equal(query_filter_add(f, "not-function", "^no such function$", &e), 0);
                detail_ns = query_view(q)->detail_from_ns;
                for (unsigned i = 0; i < 20; i++) {
                        struct query_scope scope = query_whole(q);
                        struct query_column all[N], picked[N];

                        scope.from_ns = draw(&random, detail_ns / 2);
                        scope.to_ns = scope.from_ns + 1 + draw(&random, detail_ns / 2);
                        assert_int_equal(query_timeline(q, &scope, N, 0, all, &e), 0);
                        scope.filter = f;
                        assert_int_equal(query_timeline(q, &scope, N, 0, picked, &e), 0);
                        assert_true(picked[N - 1].live_bytes >= all[N - 1].low_live_bytes &&
                                    picked[N - 1].low_live_bytes <= all[N - 1].live_bytes);
                        n_cut += all[N - 1].live_bytes > 0;
                }
                query_filter_free(f);
        }
        assert_true(n_cut > 100);
        remove(TRACE_PATH);
        remove(BOUNDED_PATH);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random_traces),    cmocka_unit_test(test_bytes_read),
                cmocka_unit_test(test_guesses),          cmocka_unit_test(test_bounded),
                cmocka_unit_test(test_bounded_timeline),
        };

        if (argc > 2) {
                struct tally t = {0};

                for (int i = 2; i < argc; i++)
                        ask_many(argv[i], (uint64_t)i, (unsigned)strtoul(argv[1], NULL, 10), &t);
                tally_print(&t);
                return t.n_differences != 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
