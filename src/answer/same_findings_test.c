/* SPDX-License-Identifier: MIT */
/* One trace, one set of findings: what the page and its file tell is what `silt report` and its JSON tell, in the same words and
 * order. */
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
#include "report/report.h"
#include "show/testing/server_trace.h"

#define TRACE_PATH "same_findings.silt"

struct told {
        char texts[16][512]; /* kind, severity and text of each finding */
        size_t n;
};

/* What stands between two keys of a finding as JSON. */
static const char *copy_until(const char *at, const char *end, char *to, size_t n) {
        const char *stop = strstr(at, end);

        assert_non_null(stop);
        snprintf(to, n, "%.*s", (int)(stop - at), at);
        return stop;
}

static struct told told_in(const char *json) {
        static const char key[] = "{\"kind\":\"";
        const char *at = strstr(json, "\"findings\":[");
        struct told t = {0};

        assert_non_null(at);
        while ((at = strstr(at, key))) {
                const char *text = strstr(at, "\"text\":");

                if (!text || !strstr(at, "\"severity\":"))
                        break;
                assert_true(t.n < 16);
                copy_until(at + sizeof(key) - 1, ",\"bytes\":", t.texts[t.n], sizeof(t.texts[0]));
                t.n++;
                at = text;
        }
        return t;
}

static struct told told_by_report(const char *process) {
        struct request request = REQUEST_DEFAULT;
        const struct show_options o = {.path = TRACE_PATH, .request = &request, .json = true};
        struct err err = {0};
        char *bytes = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&bytes, &n);
        struct told t;

        if (process)
                assert_int_equal(request_set(&request, "process", process, &err), 0);
        if (report_print(out, &o, &err) < 0)
                fail_msg("%s", err.text);
        fclose(out);
        t = told_in(bytes);
        free(bytes);
        request_done(&request);
        return t;
}

static struct told told_by_page(void) {
        struct answerer *a = open_traces(TRACE_PATH, NULL);
        struct asker *k = asker_new(a);
        struct text answered = ask(k, "report", "top=20");
        struct told t;

        if (answered.r < 0)
                fail_msg("%s", answered.err.text);
        t = told_in(answered.bytes);
        free(answered.bytes);
        asker_free(k);
        answerer_free(a);
        return t;
}

static void expect_same(const char *what, const struct told *a, const struct told *b) {
        for (size_t i = 0; i < a->n || i < b->n; i++)
                if (i >= a->n || i >= b->n || strcmp(a->texts[i], b->texts[i]) != 0)
                        fail_msg("%s: finding %zu:\n%s\n%s", what, i + 1,
                                 i < a->n ? a->texts[i] : "(none)",
                                 i < b->n ? b->texts[i] : "(none)");
}

static size_t expect_one_set(const char *what) {
        struct told plain = told_by_report(NULL), all = told_by_report("all"),
                    page = told_by_page();

        expect_same(what, &plain, &all);
        expect_same(what, &plain, &page);
        return plain.n;
}

/* A spike for a sixth of the process's life, whose end the recording outlived: by the life of the recording it is short. */
static void test_one_process(void **state) {
        for (uint64_t quiet_us = 0; quiet_us <= 4000000; quiet_us += 1000000) {
                const struct fabric_options o = {.max_processes = 1, .max_threads = 1};
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                uint32_t thread = fabric_thread(f, 0, "main"), spike, rest;
                uint64_t blocks[8];

                spike = fabric_frame(f, 0, "/bin/app", "session", "app.c", 3);
                rest = fabric_frame(f, 0, "/bin/app", "keep", "app.c", 9);
                for (size_t i = 0; i < 20; i++) {
                        fabric_alloc(f, 0, thread, rest, 5000);
                        fabric_wait(f, 20000);
                }
                for (size_t i = 0; i < 8; i++)
                        blocks[i] = fabric_alloc(f, 0, thread, spike, 1 << 20);
                fabric_wait(f, 200000);
                for (size_t i = 0; i < 8; i++)
                        fabric_free(f, 0, thread, blocks[i]);
                for (size_t i = 0; i < 20; i++) {
                        fabric_alloc(f, 0, thread, rest, 5000);
                        fabric_wait(f, 20000);
                }
                fabric_exit(f, 0);
                fabric_wait(f, quiet_us);
                fabric_end(f);
                assert_true(expect_one_set("one process") > 0);
        }
        (void)state;
}

static void test_random(void **state) {
        size_t n = 0;

        for (uint64_t seed = 1; seed < 12; seed++) {
                const struct fabric_options o = {.seed = seed,
                                                 .n_stacks = 40,
                                                 .slice_events = 100,
                                                 .max_processes = 1 + seed % 3,
                                                 .max_threads = 3,
                                                 .checkpoint_every = 7,
                                                 .max_step_us = 300,
                                                 .with_paths = true};
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                char what[32];

                fabric_run(f, 3000);
                fabric_end(f);
                snprintf(what, sizeof(what), "seed %u", (unsigned)seed);
                n += expect_one_set(what);
        }
        assert_true(n > 0);
        server_trace_write(TRACE_PATH);
        assert_true(expect_one_set("a server") > 0);
        (void)state;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_process),
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
