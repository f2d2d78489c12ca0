/* SPDX-License-Identifier: MIT */
/* Who holds what, asked as the page asks: the same as the command prints; each group has neighbours, which agree with each other; wrong groups are
 * refused with their key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "answer/answerer.h"
#include "answer/testing/asked_text.h"
#include "base/vec.h"
#include "keep/holders.h"
#include "keep/testing/graph_trace.h"

#define PATH "holders_answers.silt"

static struct text print(const char *why) {
        struct request request = REQUEST_DEFAULT;
        struct holders_options o = HOLDERS_OPTIONS_DEFAULT;
        struct text t = {0};
        FILE *out = open_memstream(&t.bytes, &t.n);

        assert_int_equal(request_set(&request, "process", "all", &t.err), 0);
        o.view.path = PATH;
        o.view.request = &request;
        o.view.json = true;
        o.why = why;
        t.r = holders_print(out, &o, &t.err);
        fclose(out);
        request_done(&request);
        return t;
}

static void write_trace(uint64_t seed) {
        struct draw d = draw_from(seed);
        bytes_buf bytes[2] = {0};

        graph_trace_draw(&d, &bytes[0]);
        graph_trace_draw(&d, &bytes[1]);
        graph_trace_write(PATH,
                          (struct graph_bytes[]){{bytes[0].items, bytes[0].n, 0},
                                                 {bytes[1].items, bytes[1].n, 0}},
                          2);
        vec_free(&bytes[0]);
        vec_free(&bytes[1]);
}

static void expect_same(struct text expected, struct text actual) {
        assert_int_equal(actual.r, expected.r);
        if (expected.r >= 0) {
                assert_int_equal(actual.n, expected.n);
                assert_memory_equal(actual.bytes, expected.bytes, expected.n);
        }
        free(expected.bytes);
        free(actual.bytes);
}

/* The number behind a key, from a place in the text on; -1: there is none. */
static long long number_after(const char *text, const char *key) {
        const char *at = text ? strstr(text, key) : NULL;

        return at ? atoll(at + strlen(key)) : -1;
}

/* Every group that the answer has: its neighbours are of the same blocks. */
static size_t check_groups(struct asker *k, const char *answer, const char *list,
                           const char *what) {
        size_t n = 0;

        for (const char *at = strstr(answer, list); (at = strstr(at, "\"group\":")); at++) {
                long long group = number_after(at, "\"group\":");
                struct text t;
                char query[128];

                if (group == 0) /* all of them */
                        continue;
                snprintf(query, sizeof(query), "graph=%lld&group=%lld%s%s",
                         number_after(answer, "\"graph\":"), group, what ? "&what=" : "",
                         what ? what : "");
                t = ask(k, "neighbours", query);
                if (t.r < 0)
                        fail_msg("%s: %s", query, t.err.text);
                assert_int_equal(number_after(t.bytes, "\"group\":"), group);
                assert_int_equal(number_after(t.bytes, "\"blocks\":"),
                                 number_after(at, "\"blocks\":"));
                assert_int_equal(number_after(t.bytes, "\"bytes\":"),
                                 number_after(at, "\"bytes\":"));
                free(t.bytes);
                n++;
        }
        return n;
}

static void test_same_as_the_command(void **state) {
        size_t n = 0;

        (void)state;
        for (uint64_t seed = 0; seed < 20; seed++) {
                struct text told, why;
                struct answerer *a;
                struct asker *k;

                write_trace(seed);
                a = open_traces(PATH, NULL);
                k = asker_new(a);
                expect_same(print(NULL), ask(k, "holders", ""));
                expect_same(print("insert"), ask(k, "holders", "what=insert"));
                told = ask(k, "holders", "");
                n += check_groups(k, told.bytes, "\"holders\":", NULL);
                why = ask(k, "holders", "what=insert");
                if (why.r >= 0)
                        n += check_groups(k, why.bytes, "\"paths\":", "insert");
                free(told.bytes);
                free(why.bytes);
                asker_free(k);
                answerer_free(a);
        }
        assert_true(n > 100);
        unlink(PATH);
}

static void test_refusals(void **state) {
        static const char *const wrong[][2] = {
                {"graph=0", "group"},         {"group=1", "graph"},
                {"graph=1&group=0", "group"}, {"graph=1&group=4000000000", "group"},
                {"graph=1&group=x", "group"}, {"graph=9&group=1", ""},
        };
        struct answerer *a;
        struct asker *k;

        (void)state;
        write_trace(3);
        a = open_traces(PATH, NULL);
        k = asker_new(a);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                struct text t = ask(k, "neighbours", wrong[i][0]);

                assert_true(t.r < 0);
                assert_true(t.err.text[0] && !strchr(t.err.text, '\n'));
                assert_string_equal(t.err.key ? t.err.key : "", wrong[i][1]);
                free(t.bytes);
        }
        asker_free(k);
        answerer_free(a);
        unlink(PATH);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_the_command),
                                           cmocka_unit_test(test_refusals)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
