/* SPDX-License-Identifier: MIT */
/* Requests by keys, as options, as a URL's query and as words: the same, whichever way they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "query/testing/fabric.h"
#include "request/request.h"
#include "request/testing/random_request.h"
#include "trace/writer.h"

/* ---- by key ---------------------------------------------------------------------------------- */

static void set(struct request *r, const char *key, const char *value) {
        struct err err = {0};

        if (request_set(r, key, value, &err) < 0)
                fail_msg("%s=%s: %s", key, value ? value : "", err.text);
}

static void refused(const char *key, const char *value, const char *why) {
        struct request r = REQUEST_DEFAULT;
        struct err err = {0};

        assert_true(request_set(&r, key, value, &err) < 0);
        assert_string_equal(err.key, key);
        if (!strstr(err.text, why))
                fail_msg("%s=%s: '%s', not '%s'", key, value ? value : "", err.text, why);
        assert_null(strstr(err.text, "--"));
        request_done(&r);
}

static void test_keys(void **state) {
        struct request r = REQUEST_DEFAULT, copy;

        (void)state;
        set(&r, "process", "main");
        set(&r, "from", "1.5s");
        set(&r, "to", "@warm");
        set(&r, "by", "growth");
        set(&r, "size", "1K..1M");
        set(&r, "callers", "f");
        set(&r, "top", "7");
        set(&r, "min-share", "0.5");
        set(&r, "depth", "3");
        set(&r, "full", "1");
        set(&r, "rules", "x.rules");
        copy = request_copy(&r);
        request_done(&r);
        assert_string_equal(copy.process, "main");
        assert_int_equal(copy.from.ns, 1500000000);
        assert_string_equal(copy.to.name, "warm");
        assert_true(copy.has_metric && copy.metric == QUERY_GROWTH);
        assert_string_equal(query_filter_text(copy.filter), "size 1K..1M");
        assert_true(copy.shape == REQUEST_CALLERS && copy.has_top && copy.full);
        assert_string_equal(copy.function, "f");
        assert_true(copy.n_top == 7 && copy.max_depth == 3 && copy.min_share_pct == 0.5);
        assert_string_equal(copy.rules.files[0], "x.rules");
        request_done(&copy);
        assert_null(copy.process);
}

static void test_refused(void **state) {
        struct request r = REQUEST_DEFAULT;
        struct err err = {0};

        (void)state;
        refused("process", "", "is not a process");
        refused("from", "soon", "not a time");
        refused("to", "@", "has no name");
        refused("by", "size", "is not a metric");
        refused("size", "9..1", "is empty");
        refused("function", "(", "");
        refused("group-by", "colour", "cannot group by");
        refused("histogram", "age", "has no histogram");
        refused("top", "-1", "is not a number from 0");
        refused("depth", "0", "is not a number from 1");
        refused("min-share", "nan", "is not a percentage");
        refused("min-share", "101", "is not a percentage");
        refused("tree", "no", "takes no value");
        refused("from", NULL, "needs a value");
        assert_true(request_set(&r, "colour", "red", &err) < 0);
        assert_null(err.key);
        set(&r, "tree", NULL);
        assert_true(request_set(&r, "blocks", NULL, &err) < 0);
        assert_string_equal(err.key, "blocks");
        assert_true(r.shape == REQUEST_TREE);
        request_done(&r);
}

static void check_refuses(const char *url, enum request_view view, const char *key) {
        struct request r = REQUEST_DEFAULT;
        struct err err = {0};

        assert_int_equal(request_parse_url(&r, url, strlen(url), &err), 0);
        if (!key) {
                assert_int_equal(request_check(&r, view, &err), 0);
        } else {
                assert_true(request_check(&r, view, &err) < 0);
                assert_string_equal(err.key, key);
                assert_null(strstr(err.text, "--"));
        }
        request_done(&r);
}

static void test_together(void **state) {
        (void)state;
        check_refuses("at=1s&to=2s", REQUEST_REPORT, "at");
        check_refuses("from=2s&to=1s", REQUEST_REPORT, "from");
        check_refuses("to=0", REQUEST_REPORT, "to");
        check_refuses("at=0", REQUEST_REPORT, "at");
        check_refuses("at=@start", REQUEST_REPORT, NULL);
        check_refuses("depth=3", REQUEST_REPORT, "depth");
        check_refuses("min-share=3", REQUEST_REPORT, "min-share");
        check_refuses("min-share=3", REQUEST_FLAME, NULL);
        check_refuses("min-share=3&tree", REQUEST_REPORT, NULL);
        check_refuses("tree", REQUEST_DIFF, "tree");
        check_refuses("per-second", REQUEST_REPORT, "per-second");
        check_refuses("per-second", REQUEST_DIFF, NULL);
}

static enum query_metric metric_of(const char *url) {
        struct request r = REQUEST_DEFAULT;
        enum query_metric m;

        assert_int_equal(request_parse_url(&r, url, strlen(url), NULL), 0);
        m = request_metric(&r);
        request_done(&r);
        return m;
}

static void test_metric(void **state) {
        (void)state;
        assert_int_equal(metric_of(""), QUERY_PEAK);
        assert_int_equal(metric_of("at=5s"), QUERY_END);
        assert_int_equal(metric_of("at=5s&by=count"), QUERY_COUNT);
        assert_int_equal(metric_of("older-than=5s"), QUERY_END);
        assert_int_equal(metric_of("per-second"), QUERY_ALLOCATED);
        assert_int_equal(metric_of("to=5s"), QUERY_PEAK);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void url_is(const char *url, const char *as_options) {
        struct request r = REQUEST_DEFAULT;
        struct str text = {0};
        struct err err = {0};

        if (request_parse_url(&r, url, strlen(url), &err) < 0)
                fail_msg("%s: %s", url, err.text);
        request_add_options(&r, &text);
        assert_string_equal(str_text(&text), as_options);
        str_done(&text);
        request_done(&r);
}

static void url_refused(const char *url, size_t n, const char *why) {
        struct request r = REQUEST_DEFAULT;
        struct err err = {0};

        assert_true(request_parse_url(&r, url, n, &err) < 0);
        if (!strstr(err.text, why) || strchr(err.text, '\n'))
                fail_msg("%s: '%s'", url, err.text);
        request_done(&r);
}

static void test_url(void **state) {
        static char many[2 * REQUEST_MAX_PAIRS + 8], long_one[REQUEST_MAX_URL_BYTES + 1];

        (void)state;
        url_is("", "");
        url_is("?", "");
        url_is("?&&&", "");
        url_is("?from=1.5s&tree&by=growth", " --from 1500ms --tree --by growth");
        url_is("function=a+b%20c&size=1K..", " --function 'a b c' --size 1K..");
        url_is("function=%C3%A4%26%3d", " --function '\xc3\xa4&='");
        url_is("function=a=b", " --function a=b");
        url_is("to=1s&to=2s", " --to 2s");
        url_refused("from=%", 6, "is not a byte");
        url_refused("from=%4", 7, "is not a byte");
        url_refused("from=%zz", 8, "is not a byte");
        url_refused("function=a%00b", 14, "zero byte");
        url_refused("function=a\0b", 12, "zero byte");
        url_refused("=", 1, "is not a key");
        url_refused("rules=/etc/passwd", 17, "is not allowed in a URL");
        url_refused("%72ules=/etc/passwd", 19, "is not allowed in a URL");
        url_refused("colour=%0Ared", 13, "is not a key");
        for (size_t i = 0; i <= REQUEST_MAX_PAIRS; i++) {
                many[2 * i] = 'x';
                many[2 * i + 1] = '&';
        }
        url_refused(many, 2, "is not a key");
        for (size_t i = 0; i < sizeof(long_one); i++)
                long_one[i] = '&';
        url_refused(long_one, sizeof(long_one), "too long");
}

static void test_words(void **state) {
        struct request r = REQUEST_DEFAULT;
        struct str text = {0};

        (void)state;
        request_add_words(&r, &text);
        assert_string_equal(str_text(&text), "all");
        str_clear(&text);
        set(&r, "process", "main");
        set(&r, "from", "5s");
        set(&r, "to", "@warm");
        set(&r, "by", "growth");
        set(&r, "size", "1K..1M");
        set(&r, "group-by", "function");
        request_add_words(&r, &text);
        assert_string_equal(
                str_text(&text),
                "growth of process main from 5s to @warm, of blocks with size 1K..1M, by function");
        str_done(&text);
        request_done(&r);
}

static void test_command(void **state) {
        struct request_step s = {.view = REQUEST_REPORT, .request = REQUEST_DEFAULT};
        struct str text = {0};

        (void)state;
        set(&s.request, "callers", "a b");
        set(&s.request, "by", "end");
        set(&s.request, "process", "12");
        set(&s.request, "size", "8");
        set(&s.request, "rules", "our rules");
        request_add_command(&s, "x y.silt", " --debug-path d", &text);
        assert_string_equal(
                str_text(&text),
                "silt report 'x y.silt' --process 12 --size 8 --rules 'our rules' --debug-path d --callers 'a b' --by end");
        str_done(&text);
        request_done(&s.request);
}

/* ---- a thousand of them ---------------------------------------------------------------------- */

static const char path[] = "request_test.silt";

static struct query *ask_some(void) {
        const struct fabric_options o = {.seed = 16,
                                         .n_stacks = 40,
                                         .slice_events = 100,
                                         .max_processes = 3,
                                         .max_threads = 2,
                                         .checkpoint_every = 4,
                                         .max_step_us = 10,
                                         .with_names = true,
                                         .passes_on = true};
        struct fabric *f = fabric_new(path, &o);
        struct query *q = NULL;
        struct err err = {0};

        fabric_run(f, 400);
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "mark 100: warm");
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "mark 100: a b&c");
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "mark 100: twice");
        fabric_run(f, 400);
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "snapshot: late%");
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "mark 100: twice");
        fabric_run(f, 100);
        fabric_end(f);
        if (query_open(path, &q, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        return q;
}

/* Words of a line as a shell reads what str_add_shell wrote. */
static size_t split(char *line, char **words, size_t max) {
        char *to = line, *at = line;
        size_t n = 0;

        while (*at) {
                bool is_quoted = false;

                while (*at == ' ')
                        at++;
                if (!*at)
                        break;
                assert_true(n < max);
                words[n++] = to;
                for (; *at && (is_quoted || *at != ' '); at++)
                        if (*at == '\'')
                                is_quoted = !is_quoted;
                        else if (!is_quoted && *at == '\\')
                                *to++ = *++at;
                        else
                                *to++ = *at;
                at += *at == ' ';
                *to++ = '\0';
        }
        return n;
}

static void from_keys(struct request *r, const struct random_request *drawn) {
        for (size_t i = 0; i < drawn->n; i++)
                set(r, drawn->pairs[i].key, drawn->pairs[i].value);
}

static void from_options(struct request *r, const char *options) {
        char *line = strdup(options), *words[2 * RANDOM_REQUEST_MAX + 2];
        size_t n_keys, n = split(line, words, ARRAY_SIZE(words));
        const struct request_key *keys = request_keys(&n_keys);

        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                assert_true(strncmp(words[i], "--", 2) == 0);
                while (k < n_keys && strcmp(keys[k].name, words[i] + 2) != 0)
                        k++;
                assert_true(k < n_keys);
                set(r, keys[k].name, keys[k].is_flag ? NULL : words[++i]);
        }
        free(line);
}

static void from_url(struct request *r, const char *url) {
        struct err err = {0};

        if (request_parse_url(r, url, strlen(url), &err) < 0)
                fail_msg("%s: %s", url, err.text);
}

/* Everything that can be read off an answer. */
static void add_answer(struct str *to, struct query *q, const struct request *r) {
        struct request_resolved x;
        struct query_answer *a = NULL;
        struct err err = {0};
        int y = request_resolve(r, q, r->full ? REQUEST_MAIN : REQUEST_ALL, &x, &err);

        if (y < 0) {
                str_addf(to, "%d %s %s\n", y, err.key ? err.key : "-", err.text);
                assert_null(strchr(err.text, '\n'));
                request_resolved_done(&x);
                return;
        }
        str_addf(to, "%u %llu %llu %d %s|%s\n", x.scope.process,
                 (unsigned long long)x.scope.from_ns, (unsigned long long)x.scope.to_ns,
                 (int)x.metric, query_filter_text(x.scope.filter), x.note);
        if (query_ask(q, &x.scope, &a, &err) < 0)
                fail_msg("%s", err.text);
        str_addn(to, (const char *)&a->totals, sizeof(a->totals));
        for (size_t i = 0; i < a->n_sites; i++)
                str_addf(to, "%u %lld %lld %llu\n", a->sites[i].stack,
                         (long long)a->sites[i].f.peak_bytes, (long long)a->sites[i].f.end_bytes,
                         (unsigned long long)a->sites[i].f.n_allocs);
        query_answer_free(a);
        request_resolved_done(&x);
}

static void same(struct str *a, struct str *b, uint64_t seed, const char *what) {
        if (a->n != b->n || (a->n && memcmp(a->bytes, b->bytes, a->n) != 0))
                fail_msg("seed %llu: %s differ:\n%s\n%s", (unsigned long long)seed, what,
                         str_text(a), str_text(b));
        str_done(b);
}

static bool one(struct query *q, uint64_t seed) {
        enum { KEYS, OPTIONS, URL, N_WAYS };
        struct request r[N_WAYS] = {REQUEST_DEFAULT, REQUEST_DEFAULT, REQUEST_DEFAULT};
        struct str options = {0}, url = {0}, words = {0}, answer = {0};
        struct random_request drawn;
        struct err err = {0};
        bool is_answered;

        random_request_draw(&drawn, seed);
        from_keys(&r[KEYS], &drawn);
        assert_int_equal(request_check(&r[KEYS], REQUEST_REPORT, &err), 0);
        request_add_options(&r[KEYS], &options);
        request_add_url(&r[KEYS], &url);
        request_add_words(&r[KEYS], &words);
        add_answer(&answer, q, &r[KEYS]);
        is_answered = answer.n && answer.bytes[0] != '-';
        from_options(&r[OPTIONS], str_text(&options));
        from_url(&r[URL], str_text(&url));
        assert_null(strchr(str_text(&words), '\n'));
        for (int way = OPTIONS; way < N_WAYS; way++) {
                struct str text = {0};

                request_add_options(&r[way], &text);
                same(&options, &text, seed, "options");
                request_add_url(&r[way], &text);
                same(&url, &text, seed, "URLs");
                request_add_words(&r[way], &text);
                same(&words, &text, seed, "words");
                add_answer(&text, q, &r[way]);
                same(&answer, &text, seed, "answers");
        }
        for (int way = 0; way < N_WAYS; way++)
                request_done(&r[way]);
        str_done(&options);
        str_done(&url);
        str_done(&words);
        str_done(&answer);
        return is_answered;
}

/* SILT_REQUESTS: how many; SILT_REQUESTS_FIRST: from which seed on. */
static void test_random(void **state) {
        const char *n_text = getenv("SILT_REQUESTS"), *first_text = getenv("SILT_REQUESTS_FIRST");
        uint64_t n = n_text ? strtoull(n_text, NULL, 10) : 1000;
        uint64_t first = first_text ? strtoull(first_text, NULL, 10) : 1, n_answered = 0;
        struct query *q = ask_some();

        (void)state;
        for (uint64_t i = 0; i < n; i++)
                n_answered += one(q, first + i);
        assert_true(n_answered > n / 2); /* most have an answer, not only the same refusal */
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_keys),     cmocka_unit_test(test_refused),
                cmocka_unit_test(test_together), cmocka_unit_test(test_metric),
                cmocka_unit_test(test_url),      cmocka_unit_test(test_words),
                cmocka_unit_test(test_command),  cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
