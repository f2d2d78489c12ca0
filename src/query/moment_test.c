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
#include "query/testing/fabric.h"
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

static uint64_t time_of(struct query *q, const char *name, size_t n_same) {
        struct query_moment m = {0};
        struct err err = {0};
        size_t n;

        if (query_find_moment(q, 0, name, &m, &n, &err) < 0)
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
        assert_int_equal(query_find_moment(q, 0, "no", &m, NULL, &err), -ENOENT);
        assert_string_equal(
                err.text,
                "no moment has the name '@no': choose from @warm, @1, @late, @start, @peak and @end");
        query_free(q);
        q = ask_about(some, 1);
        assert_int_equal(query_find_moment(q, 0, "no", &m, NULL, &err), -ENOENT);
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
        assert_int_equal(query_find_moment(q, 0, "no", &m, NULL, &err), -ENOENT);
        assert_non_null(strstr(err.text, "choose from @00000, @00001, @00002, @0000000"));
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
        const struct query_scope scope = {.to_ns = UINT64_MAX};
        struct err err = {0};

        (void)state;
        assert_int_equal(query_filter_add(f, "alive-at", "3ms", &err), 0);
        assert_int_equal(query_filter_name_times(f, q, &scope, &named, &err), 0);
        assert_null(named); /* nothing to find */
        assert_int_equal(query_filter_name_times(NULL, q, &scope, &named, &err), 0);
        assert_int_equal(query_filter_add(f, "allocated", "@warm..", &err), 0);
        assert_int_equal(query_filter_name_times(f, q, &scope, &named, &err), 0);
        assert_non_null(named);
        assert_string_equal(query_filter_text(named), "live at 3ms, allocated in @warm..");
        assert_true(query_filter_check(named, q, NULL) < 0); /* it ends before 3 ms */
        named = query_filter_free(named);
        assert_int_equal(query_filter_add(f, "allocated", "@warm..@1", &err), 0);
        assert_true(query_filter_name_times(f, q, &scope, &named, &err) <
                    0); /* the wrong way round */
        assert_null(named);
        query_filter_free(f);
        f = query_filter_new();
        assert_int_equal(query_filter_add(f, "freed-before", "@none", &err), 0);
        assert_true(query_filter_name_times(f, q, &scope, &named, &err) < 0);
        assert_non_null(strstr(err.text, "no moment has the name '@none'"));
        assert_string_equal(err.key, "freed-before");
        query_filter_free(f);
        query_free(q);
}

/* Every recording has these three, unless something else is called so. */
static void test_edges(void **state) {
        static const struct trace_note own[] = {{300000, "snapshot: peak"},
                                                {400000, "mark 12: end"}};
        struct query *q = ask_about(some, 1);

        (void)state;
        assert_int_equal(time_of(q, "start", 1), 0);
        assert_int_equal(time_of(q, "end", 1), 1000000);
        query_free(q);
        q = ask_about(own, 2);
        assert_int_equal(time_of(q, "peak", 1), 300000);
        assert_int_equal(time_of(q, "end", 1), 400000);
        assert_int_equal(time_of(q, "start", 1), 0);
        query_free(q);
}

static struct query *open_random(unsigned seed) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 6,
                                   .slice_events = 40,
                                   .max_processes = 1 + seed % 3,
                                   .max_threads = 2,
                                   .checkpoint_every = 3,
                                   .max_step_us = 100};
        struct fabric *f = fabric_new(path, &o);
        struct query *q = NULL;
        struct err err = {0};

        fabric_run(f, 600);
        fabric_end(f);
        if (query_open(path, &q, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        return q;
}

static struct query_answer *ask(struct query *q, const struct query_scope *scope) {
        struct query_answer *a = NULL;
        struct err err = {0};

        if (query_ask(q, scope, &a, &err) < 0)
                fail_msg("%s", err.text);
        return a;
}

/* Up to the peak, and no further, a process held what it held at most. */
static void test_peak(void **state) {
        (void)state;
        for (unsigned seed = 0; seed < 30; seed++) {
                struct query *q = open_random(seed);
                size_t n = query_view(q)->n_processes;

                for (size_t i = 0; i <= n; i++) {
                        struct query_scope scope = {.process = i < n ? (uint32_t)i : QUERY_ALL,
                                                    .to_ns = UINT64_MAX};
                        struct query_answer *whole = ask(q, &scope), *upto;
                        struct query_moment m;

                        assert_int_equal(query_find_moment(q, scope.process, "peak", &m, NULL,
                                                           NULL),
                                         0);
                        assert_int_equal(m.edge, QUERY_AT_PEAK);
                        scope.to_ns = m.time_ns;
                        upto = ask(q, &scope);
                        assert_int_equal(upto->totals.peak_bytes, whole->totals.peak_bytes);
                        if (m.time_ns > 2000) { /* events have microseconds */
                                scope.to_ns = m.time_ns - 2000;
                                query_answer_free(upto);
                                upto = ask(q, &scope);
                                assert_true(upto->totals.peak_bytes <= whole->totals.peak_bytes);
                        }
                        query_answer_free(upto);
                        query_answer_free(whole);
                }
                query_free(q);
        }
}

/* ---- ages -------------------------------------------------------------------------------------- */

struct aging {
        uint64_t at_ns, age_ns, bytes, n;
};

static bool add_old(void *ctx, const struct query_block *b) {
        struct aging *a = ctx;

        if (b->time_ns + a->age_ns <= a->at_ns &&
            (b->is_live || b->time_ns + b->age_ns >= a->at_ns)) {
                a->bytes += b->size_bytes;
                a->n++;
        }
        return true;
}

/* Against a list of all blocks: alive where the window ends, and since so long. */
static void test_older_than(void **state) {
        size_t n_some = 0;

        (void)state;
        srand(5);
        for (unsigned seed = 0; seed < 30; seed++) {
                struct query *q = open_random(seed / 3 * 3); /* one process */
                struct query_scope scope = {.process = 0, .to_ns = UINT64_MAX};
                uint64_t end_us = query_view(q)->end_ns / 1000;

                for (int k = 0; k < 10; k++) {
                        struct query_filter *f = query_filter_new(), *named = NULL;
                        struct aging a = {.at_ns = 1000 * (1 + (uint64_t)rand() % (end_us - 1))};
                        struct query_answer *answer;
                        char age[32];

                        a.age_ns = 1000 * ((uint64_t)rand() % (a.at_ns / 1000));
                        snprintf(age, sizeof(age), "%lluns", (unsigned long long)a.age_ns);
                        assert_int_equal(query_blocks(q, &scope, add_old, &a, NULL), 0);
                        assert_int_equal(query_filter_add(f, "older-than", age, NULL), 0);
                        assert_true(query_filter_is_by_age(f) && query_filter_needs_events(f));
                        scope.to_ns = a.at_ns;
                        assert_int_equal(query_filter_name_times(f, q, &scope, &named, NULL), 0);
                        scope.filter = named;
                        answer = ask(q, &scope);
                        assert_int_equal(answer->totals.end_bytes, a.bytes);
                        assert_int_equal(answer->totals.end_blocks, a.n);
                        n_some += a.n > 0;
                        query_answer_free(answer);
                        query_filter_free(named);
                        query_filter_free(f);
                        scope = (struct query_scope){.process = 0, .to_ns = UINT64_MAX};
                }
                query_free(q);
        }
        assert_true(n_some > 50);
}

static void test_too_old(void **state) {
        struct query *q = ask_about(some, 1);
        struct query_filter *f = query_filter_new(), *named = NULL;
        const struct query_scope scope = {.to_ns = 500000};
        struct err err = {0};

        (void)state;
        assert_int_equal(query_filter_add(f, "older-than", "501us", &err), 0);
        assert_true(query_filter_name_times(f, q, &scope, &named, &err) < 0);
        assert_string_equal(err.text,
                            "no block can be that old after only 500 us: choose a shorter time");
        assert_string_equal(err.key, "older-than");
        assert_true(query_filter_add(f, "older-than", "young", &err) < 0);
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
                cmocka_unit_test(test_found),   cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_many),    cmocka_unit_test(test_filters),
                cmocka_unit_test(test_holds),   cmocka_unit_test(test_edges),
                cmocka_unit_test(test_peak),    cmocka_unit_test(test_older_than),
                cmocka_unit_test(test_too_old),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
