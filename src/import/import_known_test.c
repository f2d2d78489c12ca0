/* SPDX-License-Identifier: MIT */
/* What sources know, and what they do not: files of other tools, imported, answer with what is in them and with no figure that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/macros.h"
#include "export/export.h"
#include "import/import.h"
#include "query/query.h"
#include "request/request.h"
#include "show/show_json.h"

static const char source[] = "known.source", trace[] = "known.silt", there[] = "known.there";

static void must(int r, const struct err *err) {
        if (r < 0)
                fail_msg("%s", err->text);
}

static void import_file(const char *from) {
        struct err err = {0};
        FILE *out = fopen(trace, "w+");

        assert_non_null(out);
        must(import_files(&from, 1, NULL, fileno(out), NULL, &err), &err);
        fclose(out);
}

static void import_text(const char *text) {
        FILE *f = fopen(source, "w");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
        import_file(source);
}

static void export_as(const char *format) {
        struct request request = REQUEST_DEFAULT;
        struct export_options o = {.path = trace, .request = &request};
        struct export_told told;
        struct err err = {0};
        FILE *out = fopen(there, "w");

        assert_non_null(out);
        must(export_format_find(format, &o.format, &err), &err);
        must(export_write(out, &o, &told, &err), &err);
        export_told_done(&told);
        fclose(out);
        request_done(&request);
}

static struct query *opened(void) {
        struct query *q = NULL;
        struct err err = {0};

        must(query_open(trace, &q, &err), &err);
        return q;
}

/* The totals as JSON. */
static char *totals_text(struct query *q) {
        struct query_scope scope = query_whole(q);
        struct query_answer *a = NULL;
        struct err err = {0};
        struct json j;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        must(query_ask(q, &scope, &a, &err), &err);
        json_init(&j, out);
        json_object(&j);
        show_put_totals(&j, "totals", q, &a->totals);
        json_end(&j);
        fclose(out);
        query_answer_free(a);
        return text;
}

static void expect_totals(struct query *q, const char *const *parts, size_t n) {
        char *text = totals_text(q);

        for (char *from = text, *to = text;; from++) { /* without blanks */
                if (*from != ' ' && *from != '\n')
                        *to++ = *from;
                if (!*from)
                        break;
        }
        for (size_t i = 0; i < n; i++)
                if (!strstr(text, parts[i]))
                        fail_msg("%s is not in %s", parts[i], text);
        free(text);
}

static int resolve(struct query *q, bool has_metric, enum query_metric m, enum query_metric *ret) {
        struct request request = REQUEST_DEFAULT;
        struct request_resolved x = {0};
        struct err err = {0};
        int r;

        request.has_metric = has_metric;
        request.metric = m;
        r = request_resolve(&request, q, REQUEST_MAIN, &x, &err);
        *ret = x.metric;
        request_resolved_done(&x);
        request_done(&request);
        return r;
}

/* ---- what was live ------------------------------------------------------------------------------- */

static const char without_lives[] =
        "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":false,\"bkacc\":false,\"cmd\":\"app\",\"pid\":7,\"te\":5,"
        "\"pps\":[{\"tb\":900,\"tbk\":9,\"fs\":[1]},{\"tb\":60,\"tbk\":6,\"fs\":[2]}],"
        "\"ftbl\":[\"[root]\",\"0x10: f (m.c:1)\",\"0x20: g (m.c:2)\"]}";

static void test_dhat_without_lifetimes(void **state) {
        static const char *const parts[] = {"\"allocations\":15,",     "\"bytes_allocated\":960,",
                                            "\"frees\":null,",         "\"peak_live_bytes\":null",
                                            "\"end_live_bytes\":null", "\"end_live_blocks\":null"};
        enum query_metric metric;
        struct query *q;

        (void)state;
        import_text(without_lives);
        q = opened();
        expect_totals(q, parts, ARRAY_SIZE(parts));
        assert_int_equal(resolve(q, false, QUERY_PEAK, &metric), 0);
        assert_int_equal(metric, QUERY_ALLOCATED);
        assert_true(resolve(q, true, QUERY_PEAK, &metric) < 0);
        assert_true(resolve(q, true, QUERY_END, &metric) < 0);
        assert_true(resolve(q, true, QUERY_GROWTH, &metric) < 0);
        assert_int_equal(resolve(q, true, QUERY_COUNT, &metric), 0);
        query_free(q);

        /* a profile of allocations alone goes there and back */
        export_as("pprof");
        import_file(there);
        q = opened();
        expect_totals(q, parts, ARRAY_SIZE(parts));
        query_free(q);
}

/* ---- how it was estimated ------------------------------------------------------------------------ */

static const char estimates[] =
        "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,\"tu\":\"ms\",\"cmd\":\"app\",\"pid\":7,"
        "\"te\":9,\"tg\":5,\"sampleBytes\":8192,"
        "\"pps\":[{\"tb\":900000,\"tbk\":9,\"gb\":700000,\"gbk\":7,\"eb\":100000,\"ebk\":1,\"fs\":[1]}],"
        "\"ftbl\":[\"[root]\",\"0x10: f (m.c:1)\"]}";

static void test_the_distance_of_samples_is_kept(void **state) {
        static const char *const formats[] = {"dhat", "pprof", "jeprof"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
                static const char *const parts[] = {"\"allocations\":9,",
                                                    "\"bytes_allocated\":900000,",
                                                    "\"end_live_bytes\":100000,"};
                struct query *q;

                import_text(estimates);
                for (size_t trip = 0; trip < 3; trip++) {
                        q = opened();
                        assert_int_equal(query_estimate_bytes(q), 8192);
                        assert_int_equal(query_sample_bytes(q), 0);
                        expect_totals(q, parts, ARRAY_SIZE(parts));
                        query_free(q);
                        export_as(formats[i]);
                        import_file(there);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dhat_without_lifetimes),
                cmocka_unit_test(test_the_distance_of_samples_is_kept),
        };
        int r = cmocka_run_group_tests_name("import/known", tests, NULL, NULL);

        unlink(source);
        unlink(trace);
        unlink(there);
        return r;
}
