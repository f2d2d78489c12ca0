/* SPDX-License-Identifier: MIT */
/* What is found is what filters select, folded away or not; code has one name in all answers; what a recording lacks is said; and findings are told when they are
 * found. */
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
#include "query/testing/fabric.h"
#include "show/testing/server_trace.h"
#include "trace/writer.h"

#define SERVER "found_server.silt"
#define FABRIC "found_fabric.silt"

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

static int64_t number_of(const struct text *t, const char *key) {
        return strtoll(value_of(t, key), NULL, 10);
}

/* What has a function anywhere is what the filter selects, and where nothing is folded all of it is shown. */
static bool expect_found(struct asker *k, const char *pattern, const char *keys) {
        char query[128];
        struct text filtered, found, full;
        int64_t value, shown;

        snprintf(query, sizeof(query), "tree&depth=1&function=%s&%s", pattern, keys);
        filtered = ask(k, "report", query);
        snprintf(query, sizeof(query), "search=%s&%s", pattern, keys);
        found = ask(k, "found", query);
        snprintf(query, sizeof(query), "full&search=%s&%s", pattern, keys);
        full = ask(k, "found", query);
        assert_int_equal(filtered.r | found.r | full.r, 0);
        value = number_of(&found, "value");
        shown = number_of(&found, "shown_value");
        assert_int_equal(value, number_of(&filtered, "value"));
        assert_int_equal(number_of(&full, "value"), value);
        assert_int_equal(number_of(&full, "shown_value"), value);
        assert_true(number_of(&found, "shown_call_paths") <= number_of(&found, "call_paths"));
        free(filtered.bytes);
        free(found.bytes);
        free(full.bytes);
        return shown != value;
}

static void test_found(void **state) {
        static const char *const patterns[] = {"a",     "malloc",       "alloc",
                                               "std::", "operator+new", "vector"};
        static const char *const keys[] = {"", "by=end", "by=allocated&process=main",
                                           "by=count&from=1ms&to=20ms"};
        unsigned n_folded = 0;

        (void)state;
        for (uint64_t seed = 0; seed < 4; seed++) {
                const char *path = seed ? FABRIC : SERVER;
                struct answerer *a;
                struct asker *k;
                struct text none;

                if (seed)
                        write_fabric(path, seed);
                else
                        server_trace_write(path);
                a = open_traces(path, NULL);
                k = asker_new(a);
                for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
                        for (size_t n = 0; n < ARRAY_SIZE(keys); n++)
                                n_folded += expect_found(k, patterns[i], keys[n]);
                none = ask(k, "found", "search=no_such_function");
                assert_int_equal(number_of(&none, "call_paths"), 0);
                assert_true(number_of(&none, "whole") > 0);
                free(none.bytes);
                asker_free(k);
                answerer_free(a);
        }
        assert_true(n_folded > 0);
}

/* Code whose nearest symbol is another function's has one name in all views: its place. */
static void test_nearest(void **state) {
        static const char *const questions[][2] = {{"table", "group-by=function&by=end"},
                                                   {"table", "group-by=site&by=end"},
                                                   {"flame", "by=end"},
                                                   {"report", "by=end&tree"},
                                                   {"report", "by=end&group-by=function"},
                                                   {"diff", "by=end&from=1ms&old-to=1ms"}};
        const struct fabric_options o = {.n_stacks = 1,
                                         .slice_events = 100,
                                         .max_processes = 1,
                                         .max_threads = 1,
                                         .with_names = true};
        struct fabric *f = fabric_new(FABRIC, &o);
        uint32_t thread = fabric_thread(f, 0, "main"), stack;
        struct answerer *a;
        struct asker *k;

        (void)state;
        stack = fabric_frame(f, 0, "/bin/app", "main", "app.c", 3);
        stack = fabric_frame(f, stack, "/lib/libsqlite3.so.0", "percent_dirty(int)", "", 0);
        fabric_guess(f);
        fabric_alloc(f, 0, thread, stack, 10);
        fabric_wait(f, 2000);
        fabric_alloc(f, 0, thread, stack, 30);
        fabric_end(f);
        a = open_traces(FABRIC, NULL);
        k = asker_new(a);
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                struct text t = ask(k, questions[i][0], questions[i][1]);
                const char *nearest = t.r >= 0 ? strstr(t.bytes, "percent_dirty") : NULL;

                if (t.r < 0 || !strstr(t.bytes, "libsqlite3.so.0+0x"))
                        fail_msg("%s: %.2000s", questions[i][0], t.r < 0 ? t.err.text : t.bytes);
                /* lists of frames say which symbol is near, and that it is near */
                for (; nearest; nearest = strstr(nearest + 1, "percent_dirty")) {
                        const char *end = strchr(nearest, '}'),
                                   *guess = strstr(nearest, "\"guess\":true");

                        if (!guess || guess > end)
                                fail_msg("%s: %.300s", questions[i][0], nearest);
                }
                free(t.bytes);
        }
        asker_free(k);
        answerer_free(a);
}

/* What is missing is said with what was recorded, for the header of all views: losses with the frees that they leave behind. */
static void test_missing(void **state) {
        const struct trace_prior late = {.age_ns = 2000000000, .allocator = "glibc"};
        const struct fabric_options o = {.max_processes = 1, .max_threads = 1};
        struct fabric *f;
        struct answerer *a;
        struct asker *k;
        struct text t;
        unsigned n_lossy = 0;

        (void)state;
        for (uint64_t seed = 1; seed < 6; seed++) {
                write_fabric(FABRIC, seed);
                a = open_traces(FABRIC, NULL);
                k = asker_new(a);
                t = ask(k, "trace", "");
                assert_int_equal(t.r, 0);
                if (number_of(&t, "lost_events") > 0) {
                        assert_non_null(strstr(t.bytes, "could not be recorded"));
                        assert_true(number_of(&t, "unknown_frees") == 0 ||
                                    strstr(t.bytes, "whose allocation was lost"));
                        n_lossy++;
                } else {
                        assert_null(strstr(t.bytes, "could not be recorded"));
                }
                free(t.bytes);
                asker_free(k);
                answerer_free(a);
        }
        assert_true(n_lossy > 0);
        f = fabric_new(FABRIC, &o);
        fabric_alloc(f, 0, fabric_thread(f, 0, "main"), fabric_frame(f, 0, "/a", "f", "f.c", 7), 9);
        trace_put_prior(fabric_writer(f), &late);
        fabric_end(f);
        a = open_traces(FABRIC, NULL);
        k = asker_new(a);
        t = ask(k, "trace", "");
        assert_non_null(strstr(t.bytes, "\"limits\":[\"recording started 2 s after the program: "
                                        "blocks allocated earlier are not seen\"]"));
        free(t.bytes);
        asker_free(k);
        answerer_free(a);
}

/* The beginning of a finding's text as JSON, up to its last full stop: the answer may have more behind it. */
static char *part_text(const char *json) {
        const char *at = strstr(json, "\"text\":");
        char *text, *end;

        assert_non_null(at);
        text = strdup(at);
        assert_non_null(text);
        end = strrchr(text, '.');
        assert_non_null(end);
        *end = '\0';
        return text;
}

struct parts {
        char *texts[32];
        size_t n;
};

static void take_part(void *ctx, const char *json) {
        struct parts *p = ctx;

        assert_true(p->n < 32 && json[0] == '{');
        p->texts[p->n++] = part_text(json);
}

/* Who waits for findings has those of the answer before it, of several processes too. */
static void test_parts(void **state) {
        struct answerer *a;
        struct asker *k;
        struct parts parts = {0};
        struct text whole, brief;
        size_t n_told = 0;

        (void)state;
        server_trace_write(SERVER);
        a = open_traces(SERVER, NULL);
        k = asker_new(a);
        asker_set_part(k, take_part, &parts);
        brief = ask(k, "report", "coarse=1");
        assert_int_equal(parts.n, 0);
        whole = ask(k, "report", "");
        assert_int_equal(whole.r, 0);
        for (size_t i = 0; i < parts.n; i++) {
                n_told += strstr(whole.bytes, parts.texts[i]) != NULL;
                free(parts.texts[i]);
        }
        assert_true(n_told > 0 && n_told == parts.n);
        free(brief.bytes);
        free(whole.bytes);
        asker_free(k);
        answerer_free(a);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_found),
                                           cmocka_unit_test(test_nearest),
                                           cmocka_unit_test(test_missing),
                                           cmocka_unit_test(test_parts)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
