/* SPDX-License-Identifier: MIT */
/* Answers that commands print too are the same, byte by byte; wrong questions are refused with their key; whoever is told to stop
 * does, and answers the next question; a trace that grows is answered as one opened then. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer/answerer.h"
#include "answer/testing/asked_text.h"
#include "diff/diff.h"
#include "query/testing/fabric.h"
#include "report/report.h"
#include "request/request.h"
#include "show/testing/server_trace.h"
#include "source/source.h"

#define SERVER "answerer_server.silt"
#define FABRIC "answerer_fabric.silt"
#define GROWING "answerer_growing.silt"

/* ---- asking -------------------------------------------------------------------------------------- */

static void expect_same_text(struct text *expected, struct text *actual, const char *query) {
        if (expected->r != actual->r ||
            (expected->r >= 0 && (expected->n != actual->n ||
                                  memcmp(expected->bytes, actual->bytes, expected->n) != 0)))
                fail_msg("%s: %d %.3000s\nis not %d %.3000s %s", query, actual->r, actual->bytes,
                         expected->r, expected->bytes, actual->err.text);
        free(expected->bytes);
        free(actual->bytes);
}

/* What the commands print. */
static struct text print(const char *path, const char *name, const char *query, const char *what) {
        struct text t = {0};
        FILE *out = open_memstream(&t.bytes, &t.n);
        struct request r = REQUEST_DEFAULT;

        assert_int_equal(request_parse_url(&r, query, strlen(query), &t.err), 0);
        if (!r.process)
                assert_int_equal(request_set(&r, "process", "all", &t.err), 0);
        if (strcmp(name, "report") == 0) {
                struct show_options o = {.path = path, .request = &r, .json = true};

                t.r = report_print(out, &o, &t.err);
        } else {
                struct source_options o = SOURCE_OPTIONS_DEFAULT;

                o.view = (struct show_options){.path = path, .request = &r, .json = true};
                o.what = what;
                o.is_full = r.full;
                t.r = source_print(out, &o, &t.err);
        }
        fclose(out);
        request_done(&r);
        return t;
}

static void write_fabric(const char *path, uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 40,
                                         .slice_events = 100,
                                         .max_processes = 1 + seed % 3,
                                         .max_threads = 3,
                                         .checkpoint_every = 7,
                                         .max_step_us = 30,
                                         .with_paths = true};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, 3000);
        fabric_end(f);
}

/* ---- the same as the commands --------------------------------------------------------------------- */

static const char *const reports[] = {
        "",
        "top=3&by=end",
        "process=main",
        "from=1ms",
        "from=1ms&to=20ms&by=growth",
        "function=a",
        "size=16..400&top=2",
        "group-by=site&top=5",
        "group-by=function",
        "group-by=module&by=count",
        "group-by=thread",
        "group-by=process",
        "tree",
        "bottom-up&min-share=5",
        "histogram=size",
        "histogram=lifetime",
        "blocks&to=1ms",
        "at=10ms",
};

static void expect_reports(struct asker *k, const char *path) {
        for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
                struct text expected = print(path, "report", reports[i], NULL);
                struct text actual = ask(k, "report", reports[i]);

                expect_same_text(&expected, &actual, reports[i]);
        }
}

static void test_reports(void **state) {
        (void)state;
        server_trace_write(SERVER);
        for (uint64_t seed = 0; seed < 4; seed++) {
                const char *path = seed ? FABRIC : SERVER;
                struct answerer *a;
                struct asker *k;

                if (seed)
                        write_fabric(path, seed);
                a = open_traces(path, NULL);
                k = asker_new(a);
                expect_reports(k, path);
                expect_reports(k, path); /* nothing is left of earlier answers */
                asker_free(k);
                answerer_free(a);
        }
}

/* ---- sooner, and finer ---------------------------------------------------------------------------- */

/* What a report tells at once is the same, to the letter: all that stands before the quality of the recording. */
static void test_brief(void **state) {
        const char *const queries[] = {"", "from=1ms&to=20ms", "function=a"};
        struct answerer *a;
        struct asker *k;

        (void)state;
        server_trace_write(SERVER);
        a = open_traces(SERVER, NULL);
        k = asker_new(a);
        for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
                struct text whole = ask(k, "report", queries[i]), brief;
                char query[64];
                size_t n;

                snprintf(query, sizeof(query), "coarse=1&%s", queries[i]);
                brief = ask(k, "report", query);
                assert_int_equal(brief.r, 0);
                assert_non_null(strstr(brief.bytes, "\"findings\":null"));
                assert_non_null(strstr(brief.bytes, "\"top\":[]"));
                assert_non_null(strstr(brief.bytes, "\"quality\":null"));
                assert_non_null(strstr(brief.bytes, "\"timeline\":[]"));
                assert_non_null(strstr(brief.bytes, "\"sizes\":null,\"lifetimes\":null"));
                n = (size_t)(strstr(whole.bytes, "\"quality\":") - whole.bytes);
                assert_true(n > 100);
                assert_memory_equal(whole.bytes, brief.bytes, n);
                free(whole.bytes);
                free(brief.bytes);
        }
        asker_free(k);
        answerer_free(a);
}

/* Boxes of a flame graph: commas in a column. */
static size_t count_boxes(struct asker *k, const char *query) {
        struct text t = ask(k, "flame", query);
        size_t n = 1;

        assert_int_equal(t.r, 0);
        for (const char *p = strstr(t.bytes, "\"parent\":["); *p != ']'; p++)
                n += *p == ',';
        free(t.bytes);
        return n;
}

static void test_boxes(void **state) {
        struct answerer *a;
        struct asker *k;

        (void)state;
        write_fabric(FABRIC, 1);
        a = open_traces(FABRIC, NULL);
        k = asker_new(a);
        assert_true(count_boxes(k, "by=allocated&boxes=3") <= 6);
        assert_true(count_boxes(k, "by=allocated&boxes=3") <
                    count_boxes(k, "by=allocated&boxes=200000"));
        assert_true(count_boxes(k, "by=allocated") <= count_boxes(k, "by=allocated&boxes=200000"));
        asker_free(k);
        answerer_free(a);
}

/* Whether an answer has these words. */
static bool says(struct asker *k, const char *query, const char *words) {
        struct text t = ask(k, "flame", query);
        bool is_there;

        assert_int_equal(t.r, 0);
        is_there = strstr(t.bytes, words) != NULL;
        free(t.bytes);
        return is_there;
}

/* Ages where they are asked for and something is alive; else why there are none. */
static void test_ages(void **state) {
        struct answerer *a;
        struct asker *k;

        (void)state;
        write_fabric(FABRIC, 1);
        a = open_traces(FABRIC, NULL);
        k = asker_new(a);
        assert_false(says(k, "by=peak", "age_s"));
        assert_true(says(k, "by=peak&ages=1", "\"age_s\":["));
        assert_true(says(k, "by=peak&ages=1", "\"age_unknown\":null"));
        assert_true(says(k, "by=end&ages=1&reverse&lines", "\"age_s\":["));
        assert_true(
                says(k, "by=allocated&ages=1", "\"age_s\":null,\"age_unknown\":\"Only what is"));
        assert_true(says(k, "by=end&ages=1&old-from=1ms&old-to=20ms", "\"age_s\":null"));
        asker_free(k);
        answerer_free(a);
}

/* The first who asks learns names for all, and a trace that grew is learned anew. */
static void test_many_askers(void **state) {
        struct text first, other;
        struct asker *k[3];
        struct answerer *a;

        (void)state;
        server_trace_write(SERVER);
        a = open_traces(SERVER, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(k); i++)
                k[i] = asker_new(a);
        for (size_t i = 1; i < ARRAY_SIZE(k); i++) {
                first = ask(k[0], "table", "group-by=function");
                other = ask(k[i], "table", "group-by=function");
                expect_same_text(&first, &other, "table");
        }
        assert_true(answerer_refresh(a, NULL) >= 0);
        first = ask(k[2], "report", "");
        other = print(SERVER, "report", "", NULL);
        expect_same_text(&other, &first, "report");
        for (size_t i = 0; i < ARRAY_SIZE(k); i++)
                asker_free(k[i]);
        answerer_free(a);
}

static void test_sources(void **state) {
        struct answerer *a;
        struct asker *k;
        struct text expected, actual;

        (void)state;
        server_trace_write(SERVER);
        a = open_traces(SERVER, NULL);
        k = asker_new(a);
        expected = print(SERVER, "source", "", "main");
        actual = ask(k, "source", "what=main");
        expect_same_text(&expected, &actual, "main");
        actual = ask(k, "source", "what=no_such_function");
        assert_true(actual.r < 0);
        free(actual.bytes);
        asker_free(k);
        answerer_free(a);
}

static struct text print_diff(const char *old, const char *old_query, const char *new,
                              const char *query) {
        struct request r[NAME_N_SIDES] = {REQUEST_DEFAULT, REQUEST_DEFAULT};
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        struct text t = {0};
        FILE *out = open_memstream(&t.bytes, &t.n);
        bool is_found;

        assert_int_equal(request_parse_url(&r[NAME_OLD], old_query, strlen(old_query), &t.err), 0);
        assert_int_equal(request_parse_url(&r[NAME_NEW], query, strlen(query), &t.err), 0);
        o.json = true;
        o.sources[NAME_OLD] = (struct diff_source){old, &r[NAME_OLD], NULL};
        o.sources[NAME_NEW] = (struct diff_source){new, &r[NAME_NEW], NULL};
        t.r = diff_print(out, &o, &is_found, &t.err);
        fclose(out);
        request_done(&r[NAME_OLD]);
        request_done(&r[NAME_NEW]);
        return t;
}

static void test_diffs(void **state) {
        struct text expected, actual;
        struct answerer *a;
        struct asker *k;

        (void)state;
        server_trace_write(SERVER);
        write_fabric(FABRIC, 2);
        a = open_traces(SERVER, FABRIC);
        k = asker_new(a);
        expected = print_diff(FABRIC, "by=end", SERVER, "by=end");
        actual = ask(k, "diff", "by=end&against=1");
        expect_same_text(&expected, &actual, "against");
        expected = print_diff(SERVER, "to=1s", SERVER, "from=1s");
        actual = ask(k, "diff", "from=1s&old-to=1s");
        expect_same_text(&expected, &actual, "windows");
        expected = print_diff(SERVER, "at=1s", SERVER, "at=2s");
        actual = ask(k, "diff", "at=2s&old-at=1s");
        expect_same_text(&expected, &actual, "moments");
        asker_free(k);
        answerer_free(a);
}

/* ---- figures of columns ----------------------------------------------------------------------------- */

/* Behind "key": of a text. */
static const char *value_of(const struct text *t, const char *key) {
        char quoted[64];
        const char *at;

        snprintf(quoted, sizeof(quoted), "\"%s\":", key);
        at = strstr(t->bytes, quoted);
        if (!at)
                fail_msg("no %s in %.500s", key, t->bytes);
        return at + strlen(quoted);
}

/* Of what was asked for, not of all that is there. */
static int64_t number_of(const struct text *t, const char *key) {
        struct text totals = {.bytes = (char *)value_of(t, "totals")};

        return strtoll(value_of(&totals, key), NULL, 10);
}

static int64_t sum_of(const struct text *t, const char *key, int64_t *ret_most) {
        const char *at = value_of(t, key);
        int64_t sum = 0;

        *ret_most = 0;
        assert_int_equal(*at, '[');
        while (*at++ != ']' && *at != ']') {
                char *end;
                int64_t v = strtoll(at, &end, 10);

                sum += v;
                *ret_most = MAX(*ret_most, v);
                at = end;
        }
        return sum;
}

/* What rows, cells and columns add up to is what the report says of the same request. */
static void expect_sums(struct asker *k, const char *keys) {
        struct text report = ask(k, "report", keys), table = ask(k, "table", keys);
        struct text heat = ask(k, "heat", keys), line = ask(k, "timeline", keys);
        int64_t most;

        assert_int_equal(report.r | table.r | heat.r | line.r, 0);
        assert_int_equal(sum_of(&table, "count", &most), number_of(&report, "allocations"));
        assert_int_equal(sum_of(&table, "allocated_bytes", &most),
                         number_of(&report, "bytes_allocated"));
        assert_int_equal(sum_of(&table, "peak_bytes", &most),
                         number_of(&report, "peak_live_bytes"));
        assert_int_equal(sum_of(&table, "end_bytes", &most), number_of(&report, "end_live_bytes"));
        assert_int_equal(sum_of(&heat, "blocks", &most), number_of(&report, "allocations"));
        assert_int_equal(sum_of(&heat, "bytes", &most), number_of(&report, "bytes_allocated"));
        sum_of(&line, "live_bytes", &most);
        if (!strstr(keys, "function")) /* else that is what they held when all peaked */
                assert_int_equal(most, number_of(&report, "peak_live_bytes"));
        free(report.bytes);
        free(table.bytes);
        free(heat.bytes);
        free(line.bytes);
}

static void test_sums(void **state) {
        (void)state;
        for (uint64_t seed = 5; seed < 9; seed++) {
                struct answerer *a;
                struct asker *k;

                write_fabric(FABRIC, seed);
                a = open_traces(FABRIC, NULL);
                k = asker_new(a);
                expect_sums(k, "");
                expect_sums(k, "process=main");
                expect_sums(k, "process=main&from=1ms&to=3ms");
                expect_sums(k, "process=main&function=a");
                asker_free(k);
                answerer_free(a);
        }
}

/* ---- wrong questions ------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
        static const struct {
                const char *name, *query, *key;
                int r;
        } wrong[] = {
                {"nothing", "", NULL, -ENOENT},
                {"", "", NULL, -ENOENT},
                {"report", "from=5x", "from", -EINVAL},
                {"report", "columns=5", "columns", -EINVAL},
                {"report", "rules=x", NULL, -EACCES},
                {"report", "nonsense=1", NULL, -EINVAL},
                {"report", "process=nobody", "process", 0},
                {"report", "from=99h", "from", -ERANGE},
                {"report", "function=%5B", "function", -EINVAL},
                {"report", "to=@nowhere", "to", 0},
                {"report", "%zz", NULL, -EINVAL},
                {"timeline", "columns=0", "columns", -EINVAL},
                {"timeline", "columns=4097", "columns", -EINVAL},
                {"timeline", "columns", "columns", -EINVAL},
                {"timeline", "groups=13", "groups", -EINVAL},
                {"timeline", "coarse=no", "coarse", -EINVAL},
                {"timeline", "tree", NULL, -EINVAL},
                {"table", "rows=200001", "rows", -EINVAL},
                {"table", "sparks=201", "sparks", -EINVAL},
                {"table", "group-by=nothing", "group-by", -EINVAL},
                {"heat", "group-by=site", NULL, -EINVAL},
                {"source", "", "what", -EINVAL},
                {"source", "what=", "what", -EINVAL},
                {"flame", "against=1", "against", -EINVAL},
                {"flame", "old-from=x", "old-from", -EINVAL},
                {"diff", "", NULL, -EINVAL},
                {"found", "", "search", -EINVAL},
                {"found", "search=", "search", -EINVAL},
                {"found", "search=%5B", "search", -EINVAL},
                {"report", "search=a", "search", -EINVAL},
                {"sql", "", "sql", -EINVAL},
                {"sql", "sql=", "sql", -EINVAL},
                {"sql", "sql=--+nothing", "sql", -EINVAL},
                {"sql", "sql=SELECT+1&rows=10001", "rows", -EINVAL},
                {"sql", "sql=SELECT+1&from=1s", NULL, -EINVAL},
                {"sql", "sql=SELECT+1;SELECT+2", "sql", -EINVAL},
                {"sql", "sql=SELECT+1;+nonsense", "sql", -EINVAL},
                {"sql", "sql=SELEKT+1", "sql", -EINVAL},
                {"sql", "sql=SELECT+x+FROM+marks", "sql", -EINVAL},
                {"sql", "sql=SELECT+:a", "sql", -EINVAL},
                {"sql", "sql=SELECT+?&p-1=2", "sql", -EINVAL},
                {"sql", "sql=SELECT+:a&p-a=1&p-b=1", "sql", -EINVAL},
                {"sql", "sql=ATTACH+'/tmp/x'+AS+y", "sql", -EACCES},
                {"sql", "sql=SELECT+1&process=nobody", "process", 0},
                {"sql", "recipe=", "recipe", -EINVAL},
                {"sql", "recipe=no-such", "recipe", -ENOENT},
                {"sql", "recipe=growing&sql=SELECT+1", "recipe", -EINVAL},
                {"sql", "recipe=growing&p-nothing=1", "recipe", -EINVAL},
                {"sql", "recipe=growing&p-since=5x", "sql", -EINVAL},
                {"sql-schema", "sql=SELECT+1", "sql", -EINVAL},
                {"sql-schema", "rows=1", "rows", -EINVAL},
                {"diff", "against=1", "against", -EINVAL},
        };
        struct answerer *a;
        struct asker *k;

        (void)state;
        server_trace_write(SERVER);
        a = open_traces(SERVER, NULL);
        k = asker_new(a);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                struct text t = ask(k, wrong[i].name, wrong[i].query);

                if (t.r >= 0 || (wrong[i].r && t.r != wrong[i].r) || !t.err.text[0] ||
                    !!t.err.key != !!wrong[i].key ||
                    (t.err.key && strcmp(t.err.key, wrong[i].key) != 0))
                        fail_msg("%s?%s: %d, %s: %s", wrong[i].name, wrong[i].query, t.r,
                                 t.err.key ? t.err.key : "-", t.err.text);
                free(t.bytes);
        }
        asker_free(k);
        answerer_free(a);
}

/* ---- stopping ------------------------------------------------------------------------------------- */

static bool stop(void *ctx, uint64_t done, uint64_t total) {
        unsigned *n_left = ctx;

        (void)done;
        (void)total;
        return *n_left && --*n_left;
}

static void test_stops(void **state) {
        struct answerer *a;
        struct asker *k;

        (void)state;
        write_fabric(FABRIC, 3);
        a = open_traces(FABRIC, NULL);
        k = asker_new(a);
        for (const char *const *name = answer_names(); *name; name++) {
                const char *query = strcmp(*name, "source") == 0  ? "what=main"
                                    : strcmp(*name, "diff") == 0  ? "old-to=1ms"
                                    : strcmp(*name, "table") == 0 ? "sparks=3&group-by=function"
                                    : strcmp(*name, "found") == 0 ? "search=a"
                                    : strcmp(*name, "sql") == 0   ? "sql=SELECT+name+FROM+marks"
                                                                  : "";
                struct text whole = ask(k, *name, query), again;

                for (unsigned n_left = 1; n_left < 40; n_left += 7) {
                        unsigned left = n_left;
                        struct text cut;

                        asker_set_progress(k, stop, &left);
                        cut = ask(k, *name, query);
                        if (cut.r < 0 && whole.r >= 0)
                                assert_int_equal(cut.r, -ECANCELED);
                        free(cut.bytes);
                }
                asker_set_progress(k, NULL, NULL);
                asker_set_deadline(k, 1);
                again = ask(k, *name, query);
                if (whole.r >= 0)
                        assert_int_equal(again.r, -ETIME);
                free(again.bytes);
                asker_set_deadline(k, 0);
                again = ask(k, *name, query);
                expect_same_text(&whole, &again, *name);
        }
        asker_free(k);
        answerer_free(a);
}

/* ---- many at once -------------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_TIMES = 20 };

struct one_of_many {
        struct answerer *of;
        pthread_barrier_t *begin;
        struct text told;
};

static void *ask_first(void *ctx) {
        struct one_of_many *m = ctx;
        struct asker *k = asker_new(m->of);

        pthread_barrier_wait(m->begin);
        m->told = ask(k, "timeline", "columns=50");
        asker_free(k);
        return NULL;
}

/* The first question of each thread, all at once, of traces that nobody has asked before. */
static void test_many_at_once(void **state) {
        struct one_of_many many[N_THREADS];
        pthread_t threads[N_THREADS];
        pthread_barrier_t begin;
        struct answerer *a;

        (void)state;
        assert_int_equal(pthread_barrier_init(&begin, NULL, N_THREADS), 0);
        write_fabric(FABRIC, 5);
        for (unsigned time = 0; time < N_TIMES; time++) {
                struct answerer *alone = open_traces(FABRIC, NULL);
                struct asker *k = asker_new(alone);

                a = open_traces(FABRIC, NULL);
                for (size_t i = 0; i < N_THREADS; i++) {
                        many[i] = (struct one_of_many){.of = a, .begin = &begin};
                        assert_int_equal(pthread_create(&threads[i], NULL, ask_first, &many[i]), 0);
                }
                for (size_t i = 0; i < N_THREADS; i++) {
                        struct text want = ask(k, "timeline", "columns=50");

                        assert_int_equal(pthread_join(threads[i], NULL), 0);
                        assert_int_equal(want.r, 0);
                        expect_same_text(&want, &many[i].told, "timeline");
                }
                asker_free(k);
                answerer_free(alone);
                answerer_free(a);
        }
        pthread_barrier_destroy(&begin);
}

/* ---- growing -------------------------------------------------------------------------------------- */

static void test_growing(void **state) {
        const struct fabric_options o = {.seed = 11,
                                         .n_stacks = 30,
                                         .slice_events = 50,
                                         .max_processes = 2,
                                         .max_threads = 2,
                                         .checkpoint_every = 5,
                                         .with_paths = true};
        struct fabric *f = fabric_new(GROWING, &o);
        struct answerer *a = NULL;
        struct asker *k[2] = {NULL, NULL};
        struct err e = {0};
        uint64_t version;

        (void)state;
        fabric_run(f, 300);
        a = open_traces(GROWING, NULL);
        assert_true(answerer_is_growing(a));
        k[0] = asker_new(a);
        k[1] = asker_new(a);
        for (unsigned step = 0; step < 4; step++) {
                version = answerer_version(a);
                expect_reports(k[step % 2], GROWING);
                if (step < 3)
                        fabric_run(f, 400);
                else
                        fabric_end(f);
                assert_int_equal(answerer_refresh(a, &e), 1);
                assert_int_equal(answerer_version(a), version + 1);
        }
        assert_false(answerer_is_growing(a));
        assert_int_equal(answerer_refresh(a, &e), 0);
        expect_reports(k[0], GROWING);
        asker_free(k[0]);
        asker_free(k[1]);
        answerer_free(a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums),         cmocka_unit_test(test_reports),
                cmocka_unit_test(test_sources),      cmocka_unit_test(test_diffs),
                cmocka_unit_test(test_refusals),     cmocka_unit_test(test_stops),
                cmocka_unit_test(test_many_at_once), cmocka_unit_test(test_growing),
                cmocka_unit_test(test_brief),        cmocka_unit_test(test_boxes),
                cmocka_unit_test(test_ages),         cmocka_unit_test(test_many_askers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
