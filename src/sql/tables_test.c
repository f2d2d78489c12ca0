/* SPDX-License-Identifier: MIT */
/* Tables of figures and of definitions on random traces: windows against a plain count of every event (query/testing/brute.h), look-ups
 * against scans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <unistd.h>

#include "name/name.h"
#include "query/testing/brute.h"
#include "query/testing/fabric.h"
#include "sql/sql.h"
#include "sql/testing/sql_ask.h"
#include "trace/writer.h"

#define TRACE_PATH "sql_tables_test.silt"

enum { N_TRACES = 4, N_WINDOWS = 12 };

struct setting {
        struct query *q;
        struct names *names;
        struct sql *sql;
        const struct trace_view *v;
        struct str text, expected, statement;
        uint64_t random;
};

static uint64_t draw(struct setting *s, uint64_t below) {
        s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (s->random >> 33) % below : 0;
}

static void make_trace(uint64_t seed) {
        struct fabric *f =
                fabric_new(TRACE_PATH, &(struct fabric_options){.seed = seed,
                                                                .n_stacks = 40,
                                                                .slice_events = 150,
                                                                .max_processes = seed % 2 ? 4 : 1,
                                                                .max_threads = 3,
                                                                .checkpoint_every = 4,
                                                                .max_step_us = 40,
                                                                .passes_on = true,
                                                                .with_names = true});

        fabric_run(f, 1200);
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.time_ns = fabric_now_ns(f),
                                                                  .anon_bytes = 4096 * (seed + 1),
                                                                  .file_bytes = 8192,
                                                                  .shmem_bytes = 0});
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "a 'note' of\ttwo");
        fabric_run(f, 1200);
        fabric_end(f);
}

static void open_trace(struct setting *s) {
        struct err err = {0};

        assert_int_equal(query_open(TRACE_PATH, &s->q, &err), 0);
        assert_int_equal(names_load(&(struct name_sources){0}, &s->names, &err), 0);
        query_set_names(s->q, s->names);
        s->v = query_view(s->q);
        assert_int_equal(sql_open(&(struct sql_options){.trace = {s->q, s->names, TRACE_PATH},
                                                        .other = {NULL, NULL, NULL},
                                                        .process = QUERY_ALL},
                                  &s->sql, &err),
                         0);
}

static void close_trace(struct setting *s) {
        s->sql = sql_free(s->sql);
        s->q = query_free(s->q);
        s->names = names_free(s->names);
        str_done(&s->text);
        str_done(&s->expected);
        str_done(&s->statement);
        unlink(TRACE_PATH);
}

static const char *ask(struct setting *s, const char *statement) {
        return sql_ask_text(s->sql, statement, &s->text);
}

static void expect(struct setting *s, const char *statement, const char *expected) {
        if (strcmp(ask(s, statement), expected) != 0)
                fail_msg("%s\nis\n%s\nnot\n%s", statement, str_text(&s->text), expected);
}

/* Both say the same. */
static void expect_same(struct setting *s, const char *one, const char *other) {
        str_clear(&s->expected);
        str_add(&s->expected, ask(s, other));
        assert_true(s->expected.n > 0);
        expect(s, one, str_text(&s->expected));
}

/* ---- windows ----------------------------------------------------------------------------------- */

static int by_stack(const void *a, const void *b) {
        const struct query_site *x = a, *y = b;

        return (x->stack > y->stack) - (x->stack < y->stack);
}

static void add_expected(struct setting *s, const struct query_site *x) {
        const struct query_figures *f = &x->f;

        str_addf(&s->expected, "%s%u|%llu|%llu|%llu|%llu|%lld|%lld|%lld|%lld|%lld|%lld|%lld|%llu",
                 s->expected.n ? "\n" : "", x->stack, (unsigned long long)f->n_allocs,
                 (unsigned long long)f->alloc_bytes, (unsigned long long)f->n_frees,
                 (unsigned long long)f->free_bytes, (long long)f->peak_blocks,
                 (long long)f->peak_bytes, (long long)f->begin_blocks, (long long)f->begin_bytes,
                 (long long)f->end_blocks, (long long)f->end_bytes,
                 (long long)(f->end_bytes - f->begin_bytes), (unsigned long long)f->n_temporary);
}

static void check_window(struct setting *s, uint64_t from_ns, uint64_t to_ns, const char *table) {
        struct query_scope scope = {.process = QUERY_ALL, .from_ns = from_ns, .to_ns = to_ns};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err err = {0};

        assert_int_equal(brute_ask(TRACE_PATH, &scope, &a, &err), 0);
        if (a->n_sites)
                qsort(a->sites, a->n_sites, sizeof(a->sites[0]), by_stack);
        str_clear(&s->expected);
        for (size_t i = 0; i < a->n_sites; i++)
                if (!query_figures_are_idle(&a->sites[i].f))
                        add_expected(s, &a->sites[i]);
        str_clear(&s->statement);
        str_addf(&s->statement,
                 "SELECT stack, allocations, allocated_bytes, frees, freed_bytes, peak_blocks, "
                 "peak_bytes, start_blocks, start_bytes, end_blocks, end_bytes, %s, temporary FROM "
                 "%s ORDER BY stack",
                 strcmp(table, "sites") == 0 ? "end_bytes - start_bytes" : "growth_bytes", table);
        expect(s, str_text(&s->statement), str_text(&s->expected));
}

static void test_windows(void **state) {
        (void)state;
        brute_passes_on = true;
        for (uint64_t seed = 1; seed <= N_TRACES; seed++) {
                struct setting s = {.random = seed};

                make_trace(seed);
                open_trace(&s);
                check_window(&s, 0, UINT64_MAX, "sites");
                check_window(&s, 0, UINT64_MAX, "window");
                for (unsigned i = 0; i < N_WINDOWS; i++) {
                        uint64_t from = draw(&s, s.v->end_ns), to = from + draw(&s, s.v->end_ns);
                        char table[80];

                        snprintf(table, sizeof(table), "window(%llu, %llu)",
                                 (unsigned long long)from, (unsigned long long)to);
                        check_window(&s, from, to > s.v->end_ns ? UINT64_MAX : to, table);
                }
                close_trace(&s);
        }
}

/* ---- look-ups ---------------------------------------------------------------------------------- */

static void test_look_ups(void **state) {
        struct setting s = {.random = 7};

        (void)state;
        make_trace(3);
        open_trace(&s);
        expect_same(
                &s,
                "SELECT count(*), sum(b.depth), total(length(b.path)) FROM stacks a JOIN stacks b ON b.parent = a.id",
                "SELECT count(*), sum(depth), total(length(path)) FROM stacks WHERE parent <> 0");
        expect_same(&s, "SELECT count(*) FROM stacks WHERE parent = 0",
                    "SELECT count(*) FROM stacks WHERE +parent = 0");
        expect_same(
                &s,
                "SELECT s.stack, count(*), max(c.level), group_concat(c.function) FROM sites s JOIN call_paths c ON "
                "c.stack = s.stack GROUP BY 1",
                "SELECT s.stack, count(*), max(c.level), group_concat(c.function) FROM sites s JOIN call_paths c ON "
                "+c.stack = +s.stack GROUP BY 1");
        /* the frames of a path are those of its places, from the inside out */
        expect_same(
                &s,
                "WITH RECURSIVE up(site, at, level) AS (SELECT stack, stack, 0 FROM sites UNION ALL SELECT up.site, "
                "k.parent, level + 1 FROM up JOIN stacks k ON k.id = up.at WHERE k.parent <> 0) SELECT up.site, "
                "up.level, f.depth, f.function, f.file, f.line FROM up JOIN stacks k ON k.id = up.at JOIN frames f ON "
                "f.location = k.location ORDER BY 1, 2, 3",
                "SELECT c.stack, c.level, c.depth, c.function, c.file, c.line FROM sites s JOIN call_paths c ON "
                "c.stack = s.stack ORDER BY 1, 2, 3");
        expect_same(
                &s,
                "SELECT sum(n) FROM (SELECT (SELECT count(*) FROM sites b WHERE b.path = a.path) AS n FROM sites a)",
                "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM sites GROUP BY path)");
        expect_same(&s, "SELECT count(*) FROM sites a JOIN sites b ON a.function = b.function",
                    "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM sites GROUP BY function)");
        /* texts that are equal in another way, or no texts, are not looked up as bytes */
        expect_same(&s,
                    "SELECT count(*) FROM sites WHERE function = upper(function) COLLATE NOCASE",
                    "SELECT count(*) FROM sites");
        expect(&s, "SELECT count(*) FROM sites WHERE path = 5 OR function = x'61'", "0");
        expect_same(&s, "SELECT count(*) FROM sites WHERE stack = '12'",
                    "SELECT count(*) FROM sites WHERE stack = 12");
        expect_same(&s, "SELECT group_concat(stack) FROM sites WHERE stack BETWEEN 4.5 AND 20",
                    "SELECT group_concat(stack) FROM sites WHERE +stack BETWEEN 5 AND 20");
        expect(&s, "SELECT count(*) FROM sites WHERE stack > 20 AND stack < 5", "0");
        /* IS as =, but for NULL; what = and others compare with NULL is no row */
        expect_same(&s, "SELECT count(*) FROM sites a JOIN sites b ON a.function IS b.function",
                    "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM sites GROUP BY function)");
        expect_same(
                &s,
                "SELECT count(*) FROM allocations a JOIN allocations b ON a.freed_ns IS b.freed_ns",
                "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM allocations GROUP BY freed_ns)");
        expect_same(
                &s,
                "SELECT count(*) FROM allocations a JOIN allocations b ON a.freed_ns = b.freed_ns",
                "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM allocations WHERE freed_ns IS NOT NULL GROUP BY freed_ns)");
        expect_same(&s, "SELECT count(*) FROM live WHERE at IS 1000000",
                    "SELECT count(*) FROM live(1000000)");
        expect_same(
                &s, "SELECT count(*), sum(bytes) FROM live WHERE at IN (1000000, 2000000)",
                "SELECT sum(n), sum(b) FROM (SELECT count(*) AS n, sum(bytes) AS b FROM live(1000000) "
                "UNION ALL SELECT count(*), sum(bytes) FROM live(2000000))");
        expect(&s, "SELECT count(*) FROM frames WHERE location < 0 OR location > 1e15", "0");
        expect_same(
                &s,
                "SELECT count(*), sum(t.allocations) FROM processes p JOIN threads t ON t.process = p.id",
                "SELECT count(*), sum(allocations) FROM threads");
        expect_same(&s, "SELECT sum(allocations), sum(allocated_bytes) FROM threads",
                    "SELECT sum(allocations), sum(allocated_bytes) FROM sites");
        close_trace(&s);
}

/* ---- the small ones ---------------------------------------------------------------------------- */

static void test_small_tables(void **state) {
        struct setting s = {.random = 7};

        (void)state;
        make_trace(2);
        open_trace(&s);
        expect(&s, "SELECT source, part, bytes, process FROM memory",
               "sample|anon|12288|0\nsample|file|8192|0\nsample|shmem|0|0");
        expect(&s, "SELECT count(*) FROM memory WHERE source = 'room'", "0");
        expect(&s, "SELECT count(*) FROM memory WHERE process = 1 OR time_ns < 5", "0");
        expect(&s, "SELECT text FROM notes", "a 'note' of\ttwo");
        expect(&s, "SELECT value FROM trace WHERE key = 'unit'", "bytes");
        expect_same(
                &s,
                "SELECT sum(allocations), sum(allocated_bytes), count(*) - 37 FROM timeline(137)",
                "SELECT sum(allocations), sum(allocated_bytes), 100 FROM sites");
        expect_same(&s, "SELECT max(live_bytes) FROM timeline(1)",
                    "SELECT max(peak_bytes) FROM processes");
        expect(&s, "SELECT * FROM timeline(0)",
               "error: timeline(columns, …) has from 1 to 100000 columns");
        expect(&s, "SELECT count(*) FROM mappings", "0");
        expect_same(&s, "SELECT count(*) FROM findings", "SELECT max(rank) FROM findings");
        close_trace(&s);
}

/* Windows that are read at the same time, and more than are kept. */
static void test_many_windows(void **state) {
        struct setting s = {.random = 7};

        (void)state;
        make_trace(2);
        open_trace(&s);
        expect_same(
                &s, "SELECT sum(w.allocations) FROM timeline(40) t, window(t.begin_ns, t.end_ns) w",
                "SELECT sum(allocations) FROM window(0, (SELECT value FROM trace WHERE key = 'to_ns'))");
        expect(&s,
               "SELECT 1 FROM window(1) a, window(2) b, window(3) c, window(4) d, window(5) e, window(6) f, window(7) g, "
               "window(8) h, window(9) i",
               "error: the statement asks about more than 8 windows at once");
        expect(&s, "SELECT count(*) > 0 FROM window(1) a JOIN window(2) b ON b.stack = a.stack",
               "1");
        close_trace(&s);
}

/* ---- timeline ---------------------------------------------------------------------------------- */

/* Each stretch has the allocations in it, however many slices it cuts. */
static void test_timeline(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= N_TRACES; seed++) {
                struct setting s = {.random = seed};

                make_trace(seed);
                open_trace(&s);
                for (int i = 0; i < N_WINDOWS; i++) {
                        unsigned long long n = 1 + draw(&s, 40), from = draw(&s, s.v->end_ns),
                                           to = from + draw(&s, s.v->end_ns - from) + 1;
                        char stretches[100];
                        struct str counted = {0};

                        snprintf(stretches, sizeof(stretches), "timeline(%llu, %llu, %llu)", n,
                                 from, to);
                        str_clear(&s.statement);
                        str_addf(&s.statement, "SELECT allocations, allocated_bytes FROM %s",
                                 stretches);
                        str_addf(&counted,
                                 "SELECT count(a.id), ifnull(sum(a.bytes), 0) FROM %s AS t LEFT "
                                 "JOIN allocations AS a ON a.time_ns >= t.begin_ns AND "
                                 "a.time_ns < t.end_ns GROUP BY t.begin_ns, t.end_ns, t.rowid "
                                 "ORDER BY t.rowid",
                                 stretches);
                        expect_same(&s, str_text(&s.statement), str_text(&counted));
                        str_done(&counted);
                }
                assert_string_equal(sql_doubts(s.sql), "");
                close_trace(&s);
        }
}

/* ---- texts in the place of numbers --------------------------------------------------------------- */

static void expect_refusal(struct setting *s, const char *statement, const char *words) {
        if (!strstr(ask(s, statement), words))
                fail_msg("%s\nis\n%s\nwithout\n%s", statement, str_text(&s->text), words);
}

/* Both moments, which share blocks. */
#define TWO_MOMENTS(rest)                                                                          \
        "SELECT count(*), sum(bytes) FROM (SELECT * FROM live(1000000) UNION ALL SELECT * FROM live(2000000)) WHERE " rest

static void test_arguments(void **state) {
        static const char *const parts[][2] = {
                {"SELECT count(*), sum(bytes) FROM live WHERE at = 1000000 OR at = 2000000",
                 TWO_MOMENTS("1")},
                {"SELECT count(*), sum(bytes) FROM live WHERE (at = 1000000 OR at = 2000000) AND id >= 0",
                 TWO_MOMENTS("1")},
                {"SELECT count(*), sum(bytes) FROM live WHERE (at = 1000000 AND bytes > 50) OR (at = 2000000 AND bytes > 50)",
                 TWO_MOMENTS("bytes > 50")},
                {"SELECT count(*), sum(bytes) FROM live WHERE (at = 1e6 AND bytes > 50) OR (at = 1000000 AND bytes > 20)",
                 "SELECT count(*), sum(bytes) FROM live(1000000) WHERE bytes > 20"},
                {"SELECT count(*) FROM live(1000000) WHERE id = 3 OR bytes > 50 OR stack = 2",
                 "SELECT sum(id = 3 OR bytes > 50 OR stack = 2) FROM live(1000000)"},
                {"SELECT count(*) FROM live WHERE at = 1000000 AND at + 1 > 1000000",
                 "SELECT count(*) FROM live(1000000)"},
                {"SELECT DISTINCT at FROM live(1000000)", "SELECT 1000000"},
        };
        static const char *const statements[] = {
                "SELECT count(*) FROM live WHERE at > 5",
                "SELECT count(*) FROM live(5) WHERE at = 6",
                "SELECT count(*) FROM live WHERE at BETWEEN 1 AND 2",
                "SELECT count(*) FROM live WHERE at <> 5",
                "SELECT count(*) FROM window WHERE \"to\" IS NOT NULL",
                "SELECT count(*) FROM timeline(5, 0) WHERE columns < 9",
                "SELECT count(*) FROM live WHERE NOT (at <> 1000000)",
                "SELECT count(*) FROM live WHERE at + 0 = 1000000",
                "SELECT count(*) FROM live WHERE at LIKE '1%'",
                "SELECT count(*) FROM live WHERE at = 1000000 OR bytes > 0",
                "SELECT max(at) FROM live",
                "SELECT count(*) FROM timeline WHERE columns * 2 = 10",
        };
        struct setting s = {0};

        (void)state;
        make_trace(1);
        open_trace(&s);
        for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
                expect_refusal(&s, statements[i], ": give it once, as ");
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                expect_same(&s, parts[i][0], parts[i][1]);
        close_trace(&s);
}

static void test_texts(void **state) {
        struct setting s = {0};

        (void)state;
        make_trace(1);
        open_trace(&s);
        expect_refusal(&s, "SELECT count(*) FROM allocations WHERE time_ns < '1s'",
                       "time_ns is a number: write at('1s')");
        expect_refusal(&s, "SELECT count(*) FROM allocations WHERE '@peak' <= time_ns",
                       "time_ns is a number: write at('@peak')");
        expect_refusal(&s, "SELECT count(*) FROM events WHERE time_ns BETWEEN 1 AND 'soon'",
                       "time_ns is a number, and 'soon' is none: write nanoseconds, at('5s')");
        expect_refusal(&s, "SELECT count(*) FROM allocations WHERE bytes > '64K'",
                       "bytes is a number: write 65536 instead of '64K'");
        expect_refusal(&s, "SELECT count(*) FROM allocations WHERE thread IN (1, 'main')",
                       "thread is a number, and 'main' is none");
        /* columns that are left to SQLite, and what is known only when it runs */
        expect_refusal(&s, "SELECT count(*) FROM sites WHERE peak_bytes <> '1M'",
                       "peak_bytes is a number: write 1048576");
        expect_refusal(&s, "SELECT count(*) FROM live WHERE age_ns > '1s'",
                       "age_ns is a number: write at('1s')");
        expect_refusal(&s, "SELECT count(*) FROM allocations WHERE bytes > '6' || '4K'",
                       "bytes is a number: write 65536");
        expect_same(&s, "SELECT count(*) FROM allocations WHERE bytes > '64' AND time_ns <= '9e9'",
                    "SELECT count(*) FROM allocations WHERE bytes > 64 AND time_ns <= 9000000000");
        expect(&s, "SELECT typeof('64') FROM allocations WHERE bytes >= '64' LIMIT 1", "text");
        expect(&s,
               "SELECT count(*) > 0 FROM allocations, live('@peak') AS l WHERE l.id = allocations.id",
               "1");
        close_trace(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_windows),      cmocka_unit_test(test_look_ups),
                cmocka_unit_test(test_small_tables), cmocka_unit_test(test_many_windows),
                cmocka_unit_test(test_timeline),     cmocka_unit_test(test_texts),
                cmocka_unit_test(test_arguments),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
