/* SPDX-License-Identifier: MIT */
/* What is written, which format is chosen, who is let in, and where to listen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "metrics/exposition.h"
#include "metrics/listen_address.h"
#include "metrics/scrape_gate.h"

static void assert_written(const struct metric_set *set, enum exposition e, const char *expected) {
        struct str text = {0};

        exposition_write(set, e, &text);
        assert_string_equal(str_text(&text), expected);
        str_done(&text);
}

static struct metric_labels labels(const char *name, const char *value) {
        struct metric_labels l = {0};

        metric_label(&l, name, value);
        return l;
}

static void test_both_formats(void **state) {
        struct counter_keeper keeper = {0};
        struct metric_set set = {.keeper = &keeper};
        struct metric_labels l = labels("program", "a");

        (void)state;
        metric_put(&set, METRIC_BUILD_INFO, NULL, 1);
        metric_put(&set, METRIC_TRACE_BYTES, &l, 4096);
        metric_count(&set, METRIC_HEAP_FREES, &l, 0, 7);
        metric_count(&set, METRIC_OWN_CPU, &l, 0, 1500000000);
        assert_written(&set, EXPOSITION_PROMETHEUS,
                       "# HELP silt_build_info The silt that answers.\n"
                       "# TYPE silt_build_info gauge\n"
                       "silt_build_info 1\n"
                       "# HELP silt_heap_frees_total Blocks freed.\n"
                       "# TYPE silt_heap_frees_total counter\n"
                       "silt_heap_frees_total{program=\"a\"} 7\n"
                       "# HELP silt_own_cpu_seconds_total CPU time of the recorder.\n"
                       "# TYPE silt_own_cpu_seconds_total counter\n"
                       "silt_own_cpu_seconds_total{program=\"a\"} 1.500000000\n"
                       "# HELP silt_trace_bytes Size of the trace.\n"
                       "# TYPE silt_trace_bytes gauge\n"
                       "silt_trace_bytes{program=\"a\"} 4096\n");
        assert_written(&set, EXPOSITION_OPENMETRICS,
                       "# HELP silt_build The silt that answers.\n"
                       "# TYPE silt_build info\n"
                       "silt_build_info 1\n"
                       "# HELP silt_heap_frees Blocks freed.\n"
                       "# TYPE silt_heap_frees counter\n"
                       "silt_heap_frees_total{program=\"a\"} 7\n"
                       "# HELP silt_own_cpu_seconds CPU time of the recorder.\n"
                       "# TYPE silt_own_cpu_seconds counter\n"
                       "# UNIT silt_own_cpu_seconds seconds\n"
                       "silt_own_cpu_seconds_total{program=\"a\"} 1.500000000\n"
                       "# HELP silt_trace_bytes Size of the trace.\n"
                       "# TYPE silt_trace_bytes gauge\n"
                       "# UNIT silt_trace_bytes bytes\n"
                       "silt_trace_bytes{program=\"a\"} 4096\n"
                       "# EOF\n");
        metric_labels_done(&l);
        metric_set_done(&set);
        counter_keeper_done(&keeper);
}

/* A unit is the end of the name, and every metric has a help of one line without what would have to be escaped. */
static void test_names(void **state) {
        (void)state;
        for (size_t i = 0; i < METRIC_N; i++) {
                const struct metric_name *m = &metric_names[i];
                size_t n = strlen(m->name), n_unit = strlen(m->unit);

                assert_true(strncmp(m->name, "silt_", 5) == 0);
                assert_true(n_unit == 0 || (n > n_unit && m->name[n - n_unit - 1] == '_' &&
                                            strcmp(m->name + n - n_unit, m->unit) == 0));
                assert_true(n < 6 || strcmp(m->name + n - 6, "_total") != 0);
                assert_true(m->help[0] && !strpbrk(m->help, "\\\n\""));
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(metric_names[k].name, m->name);
        }
}

static void test_labels(void **state) {
        static const struct {
                const char *value, *expected;
        } cases[] = {
                {"plain", "l=\"plain\""},
                {"", "l=\"\""},
                {"a\"b\\c", "l=\"a\\\"b\\\\c\""},
                {"a\nb", "l=\"a\\\\x0ab\""},
                {"\xff", "l=\"\\\\xff\""},
                {"Größe", "l=\"Größe\""},
                {"\xe2\x80\xae", "l=\"\\\\u{202e}\""},
        };
        char longer[METRIC_MAX_LABEL_BYTES + 2] = "";
        struct metric_labels l;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                l = labels("l", cases[i].value);
                assert_string_equal(str_text(&l.text), cases[i].expected);
                metric_labels_done(&l);
        }
        memset(longer, 'x', sizeof(longer) - 1);
        l = labels("l", longer);
        assert_int_equal(l.text.n, METRIC_MAX_LABEL_BYTES + strlen("l=\"…\""));
        metric_labels_done(&l);
}

/* The same labels are one series, whose values add up. */
static void test_one_series(void **state) {
        struct metric_labels a = labels("component", "a"), b = labels("component", "b");
        struct metric_set set = {0};

        (void)state;
        metric_put_signed(&set, METRIC_COMPONENT_LIVE_BYTES, &a, 5);
        metric_put_signed(&set, METRIC_COMPONENT_LIVE_BYTES, &b, 1);
        metric_put_signed(&set, METRIC_COMPONENT_LIVE_BYTES, &a, -7);
        metric_put(&set, METRIC_HEAP_LIVE_BYTES, &a, UINT64_MAX);
        metric_put(&set, METRIC_HEAP_LIVE_BYTES, &a, UINT64_MAX);
        assert_int_equal(set.values[METRIC_COMPONENT_LIVE_BYTES].n, 2);
        assert_int_equal(set.values[METRIC_COMPONENT_LIVE_BYTES].items[0].whole, -2);
        assert_true(set.values[METRIC_HEAP_LIVE_BYTES].items[0].whole == INT64_MAX);
        metric_set_clear(&set);
        metric_put(&set, METRIC_HEAP_LIVE_BYTES, &a, 3);
        assert_int_equal(set.values[METRIC_HEAP_LIVE_BYTES].items[0].whole, 3);
        metric_labels_done(&a);
        metric_labels_done(&b);
        metric_set_done(&set);
}

static void test_counters_never_fall(void **state) {
        struct counter_keeper k = {0};

        (void)state;
        assert_int_equal(counter_keeper_count(&k, 1, 0, 10), 10);
        assert_int_equal(counter_keeper_count(&k, 1, 0, 4), 10);
        assert_int_equal(counter_keeper_count(&k, 1, 0, 12), 12);
        assert_int_equal(counter_keeper_count(&k, 1, 7, 3), 15); /* the next program of the pid */
        assert_int_equal(counter_keeper_count(&k, 2, 0, 1), 1);
        counter_keeper_begin(&k);
        /* however many come and go, those that are asked for each time stay */
        for (uint64_t round = 0; round < 6; round++) {
                for (uint64_t i = 0; i < COUNTER_KEEPER_MAX / 2; i++)
                        counter_keeper_count(&k, 1000 + round * COUNTER_KEEPER_MAX + i, 0, 1);
                assert_int_equal(counter_keeper_count(&k, 1, 7, 3 + round), 15 + round);
                counter_keeper_begin(&k);
        }
        assert_true(k.now.n <= 2 * COUNTER_KEEPER_MAX + 4 &&
                    k.before.n <= 2 * COUNTER_KEEPER_MAX + 4);
        counter_keeper_done(&k);
}

static void test_accept(void **state) {
        static const struct {
                const char *accept;
                enum exposition expected;
        } cases[] = {
                {NULL, EXPOSITION_PROMETHEUS},
                {"", EXPOSITION_PROMETHEUS},
                {"*/*", EXPOSITION_PROMETHEUS},
                {"text/html,application/xhtml+xml,*/*;q=0.8", EXPOSITION_PROMETHEUS},
                {"application/openmetrics-text", EXPOSITION_OPENMETRICS},
                {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                 EXPOSITION_OPENMETRICS},
                {"application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                 EXPOSITION_PROMETHEUS},
                {"text/plain, application/openmetrics-text;q=0.3", EXPOSITION_PROMETHEUS},
                {"application/openmetrics-text;q=0", EXPOSITION_PROMETHEUS},
                {"APPLICATION/OpenMetrics-Text ;Q=0.5 , text/plain;q=0.4", EXPOSITION_OPENMETRICS},
                {"application/openmetrics-textual", EXPOSITION_PROMETHEUS},
                {";;;,,,q=,=;q", EXPOSITION_PROMETHEUS},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_int_equal(exposition_of_accept(cases[i].accept), cases[i].expected);
}

static void test_accept_encoding(void **state) {
        static const struct {
                const char *accept;
                bool expected;
        } cases[] = {
                {NULL, false},
                {"", false},
                {"gzip", true},
                {"deflate, gzip;q=1.0, *;q=0.5", true},
                {"GZip ; q=0.3", true},
                {"x-gzip", true},
                {"identity", false},
                {"gzip;q=0", false},
                {"*, gzip;q=0.0", false},
                {"*", true},
                {"*;q=0", false},
                {"gzipped", false},
                {"\t,;q=,gzip\t", true},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_int_equal(exposition_may_be_gzip(cases[i].accept), cases[i].expected);
}

static void test_addresses(void **state) {
        static const struct {
                const char *text, *host;
                unsigned port;
        } cases[] = {
                {"127.0.0.1:9464", "127.0.0.1", 9464},
                {"9464", "127.0.0.1", 9464},
                {":0", "127.0.0.1", 0},
                {"[::1]:80", "::1", 80},
                {"0.0.0.0:65535", "0.0.0.0", 65535},
                {"localhost:1", "localhost", 1},
        };
        static const char *const wrong[] = {"",        ":",     "::1:80",     "127.0.0.1",
                                            "a:65536", "a: 80", "1.2.3.4:-1", "[::1]"};
        struct listen_address a;
        struct err err;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(listen_address_parse(cases[i].text, &a, &err), 0);
                assert_string_equal(a.host, cases[i].host);
                assert_int_equal(a.port, cases[i].port);
        }
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_true(listen_address_parse(wrong[i], &a, &err) < 0);
}

static void test_gate(void **state) {
        static const struct {
                struct scrape_head head;
                unsigned status, far_status;
        } cases[] = {
                {{"GET", "/metrics", "localhost:9464", false}, 200, 200},
                {{"HEAD", "/metrics", "127.0.0.1", false}, 200, 200},
                {{"GET", "/", NULL, false}, 200, 200},
                {{"GET", "/metrics", "[::1]:9464", false}, 200, 200},
                {{"GET", "/metrics", "evil.example:9464", false}, 403, 200},
                {{"GET", "/metrics", "localhost.evil.example", false}, 403, 200},
                {{"GET", "/metrics", "[", false}, 403, 200},
                {{"GET", "/nothing", "localhost", false}, 404, 404},
                {{"POST", "/metrics", "localhost", false}, 405, 405},
                {{"GET", "/metrics", "localhost", true}, 413, 413},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(scrape_admit(&cases[i].head, true).status, cases[i].status);
                assert_int_equal(scrape_admit(&cases[i].head, false).status, cases[i].far_status);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_formats),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_labels),
                cmocka_unit_test(test_one_series),
                cmocka_unit_test(test_counters_never_fall),
                cmocka_unit_test(test_accept),
                cmocka_unit_test(test_accept_encoding),
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_gate),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
