/* SPDX-License-Identifier: MIT */
/* Moments that have a name: which notes are some, which of several is meant, what is said of unknown ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/query.h"
#include "trace/reader.h"
#include "trace/writer.h"

static const char path[] = "moment_test.silt";

static const struct trace_note some[] = {
        {500, "pid 12 not followed: static"},
        {900000, "mark 12: warm"},
        {700000, "snapshot: warm"},
        {800000, "snapshot: 1"},
        {100000, "mark 13: 1"},
        {100000, "mark 13: 1"},
        {200000, "mark x: no"},
        {200000, "mark 5:no"},
        {200000, "mark 5"},
        {200000, "mark"},
        {200000, "snapshot"},
        {200000, "mark 7: "},
        {2000000000, "snapshot: late"},
};

static void write_trace(const struct trace_note *notes, size_t n) {
        struct trace_meta meta = {.pid = 12, .silt_version = "", .host = "", .cwd = ""};
        struct trace_process process = {.pid = 12, .parent = TRACE_NO_PROCESS, .exe = "/x"};
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct trace_writer *w;

        assert_int_equal(trace_writer_open(fd, &meta, &w, NULL), 0);
        trace_add_process(w, &process);
        for (size_t i = 0; i < n; i++)
                trace_put_note(w, notes[i].time_ns, notes[i].text);
        trace_end_slice(w, 1000000, NULL, 0, NULL, 0);
        assert_int_equal(trace_writer_finish(w, NULL), 0);
        trace_writer_free(w);
}

static struct query *ask_about(const struct trace_note *notes, size_t n) {
        struct query *q = NULL;
        struct err err = {0};

        write_trace(notes, n);
        if (query_open(path, &q, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        return q;
}

static uint64_t time_of(const struct query *q, const char *name, size_t n_same) {
        struct query_moment m = {0};
        struct err err = {0};
        size_t n;

        if (query_find_moment(q, name, &m, &n, &err) < 0)
                fail_msg("%s", err.text);
        assert_string_equal(m.name, name);
        assert_int_equal(n, n_same);
        return m.time_ns;
}

static void test_found(void **state) {
        struct query *q = ask_about(some, sizeof(some) / sizeof(some[0]));
        struct query_moment m;
        size_t n = 0;

        (void)state;
        for (size_t i = 0; i < query_view(q)->n_notes; i++)
                n += query_moment_of(&query_view(q)->notes[i], &m);
        assert_int_equal(n, 7);
        assert_int_equal(time_of(q, "warm", 2),
                         700000); /* the earlier, not the one that stands first */
        assert_int_equal(time_of(q, "1", 3), 100000);
        assert_int_equal(time_of(q, "late", 1), 1000000); /* not behind the end */
        query_free(q);
}

static void test_unknown(void **state) {
        struct query *q = ask_about(some, sizeof(some) / sizeof(some[0]));
        struct query_moment m;
        struct err err = {0};

        (void)state;
        assert_int_equal(query_find_moment(q, "no", &m, NULL, &err), -ENOENT);
        assert_string_equal(err.text, "no moment is called '@no': there are @warm, @1, @late");
        query_free(q);
        q = ask_about(some, 1);
        assert_int_equal(query_find_moment(q, "no", &m, NULL, &err), -ENOENT);
        assert_non_null(strstr(err.text, "no snapshots and no marks"));
        query_free(q);
}

static void test_many(void **state) {
        enum { N = 3000 };
        struct trace_note *notes = calloc(N, sizeof(notes[0]));
        struct query_moment m;
        struct err err = {0};
        struct query *q;

        (void)state;
        for (int i = 0; i < N; i++) {
                char *text = malloc(300);

                snprintf(text, 300, "mark 1: %0*d", i == 3 ? 200 : 5, i);
                notes[i] = (struct trace_note){(uint64_t)i, text};
        }
        q = ask_about(notes, N);
        assert_int_equal(time_of(q, "02999", 1), 2999);
        assert_int_equal(query_find_moment(q, "no", &m, NULL, &err), -ENOENT);
        assert_non_null(strstr(err.text, "there are @00000, @00001, @00002, @0000000"));
        assert_non_null(strstr(err.text, "..., @00004, "));
        assert_non_null(strstr(err.text, " more"));
        assert_true(strlen(err.text) < sizeof(err.text) - 30);
        query_free(q);
        for (int i = 0; i < N; i++)
                free((char *)notes[i].text);
        free(notes);
}

static void test_filters(void **state) {
        struct query *q = ask_about(some, sizeof(some) / sizeof(some[0]));
        struct query_filter *f = query_filter_new(), *named = NULL;
        struct err err = {0};

        (void)state;
        assert_int_equal(query_filter_add(f, "alive-at", "3ms", &err), 0);
        assert_int_equal(query_filter_name_times(f, q, &named, &err), 0);
        assert_null(named); /* nothing to find */
        assert_int_equal(query_filter_name_times(NULL, q, &named, &err), 0);
        assert_int_equal(query_filter_add(f, "allocated", "@warm..", &err), 0);
        assert_int_equal(query_filter_name_times(f, q, &named, &err), 0);
        assert_non_null(named);
        assert_string_equal(query_filter_text(named), "life at 3ms, allocation in @warm..");
        assert_true(query_filter_check(named, 700000, NULL) < 0); /* it begins at 0.7 ms */
        named = query_filter_free(named);
        assert_int_equal(query_filter_add(f, "allocated", "@warm..@1", &err), 0);
        assert_true(query_filter_name_times(f, q, &named, &err) < 0); /* the wrong way round */
        assert_null(named);
        query_filter_free(f);
        f = query_filter_new();
        assert_int_equal(query_filter_add(f, "freed-before", "@none", &err), 0);
        assert_true(query_filter_name_times(f, q, &named, &err) < 0);
        assert_non_null(strstr(err.text, "--freed-before: no moment is called '@none'"));
        query_filter_free(f);
        query_free(q);
}

static void test_holds(void **state) {
        static const struct {
                const char *text;
                bool is_one;
                uint64_t ns;
                bool is_leaving;
        } cases[] = {{"held: 3100000 ns to attach", true, 3100000, false},
                     {"held: 0 ns to leave", true, 0, true},
                     {"held: 5 ns to leave it", false, 0, false},
                     {"held: -5 ns to leave", false, 0, false},
                     {"held: ns to attach", false, 0, false},
                     {"held: 7", false, 0, false},
                     {"held", false, 0, false},
                     {"snapshot: held: 5 ns to attach", false, 0, false}};

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct trace_note note = {0, cases[i].text};
                struct query_hold h;

                assert_int_equal(query_hold_of(&note, &h), cases[i].is_one);
                if (!cases[i].is_one)
                        continue;
                assert_int_equal(h.held_ns, cases[i].ns);
                assert_int_equal(h.is_leaving, cases[i].is_leaving);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_found), cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_many),  cmocka_unit_test(test_filters),
                cmocka_unit_test(test_holds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
