/* SPDX-License-Identifier: MIT */
/* A view of fewer than 60 lines answers what is put as a URL's query, with the figures of the trace. That other views say the
 * same: report/report_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "show/testing/server_trace.h"
#include "show/testing/toy_view.h"

#define TRACE_PATH "toy_view_test.silt"

static int write_trace(void **state) {
        (void)state;
        server_trace_write(TRACE_PATH);
        return 0;
}

/* What it printed, to be freed. */
static char *ask(const char *url, int expected, struct err *e) {
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        assert_int_equal(toy_view(out, TRACE_PATH, url, strlen(url), e) < 0, expected < 0);
        fclose(out);
        return text;
}

static void answers(const char *url, const char *const *parts) {
        struct err e = {0};
        char *text = ask(url, 0, &e);

        for (; *parts; parts++)
                if (!strstr(text, *parts))
                        fail_msg("%s: '%s' is not in %s", url, *parts, text);
        free(text);
}

static void refuses(const char *url, const char *key, const char *why) {
        struct err e = {0};
        char *text = ask(url, -1, &e);

        assert_string_equal(text, "");
        assert_string_equal(e.key ? e.key : "", key);
        if (!strstr(e.text, why))
                fail_msg("%s: '%s', not '%s'", url, e.text, why);
        free(text);
}

static void test_answers(void **state) {
        char kept[64];

        (void)state;
        snprintf(kept, sizeof(kept), "\"value\":%d,",
                 SERVER_TRACE_N_CACHED * SERVER_TRACE_CACHED_BYTES);
        answers("process=main&by=end",
                (const char *const[]){"\"metric\":\"end\"", "\"end_live_bytes\":3400000,", kept,
                                      NULL});
        answers("?by=end&group-by=function&top=1",
                (const char *const[]){"\"pid\":100,", "\"group_by\":\"function\"", kept, NULL});
        answers("size=1500..1500&by=count&group-by=size",
                (const char *const[]){"\"min_bytes\":1281,", "\"value\":2000,", NULL});
        answers("process=all&to=1us", (const char *const[]){"\"pid\":null,", NULL});
}

static void test_errors(void **state) {
        (void)state;
        refuses("by=colour", "by", "colour");
        refuses("form=round", "", "form");
        refuses("from=%40nowhere", "from", "nowhere");
        refuses("from=99h", "from", "the recording is only");
        refuses("group-by=function&tree=1", "tree", "");
}

static void test_size(void **state) {
        FILE *f = fopen(TOY_VIEW_SOURCE, "r");
        int n = 0, c;

        (void)state;
        assert_non_null(f);
        while ((c = fgetc(f)) != EOF)
                n += c == '\n';
        fclose(f);
        assert_in_range(n, 1, 59);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_size),
        };

        return cmocka_run_group_tests_name("show/toy_view", tests, write_trace, NULL);
}
