/* SPDX-License-Identifier: MIT */
/* What differences and checks say: of traces made by hand, whose differences are known, and of random ones, where all
 * must be printed whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "diff/check.h"
#include "diff/diff.h"
#include "diff/diff_words.h"
#include "query/query.h"
#include "query/testing/fabric.h"

#define OLD_PATH "told_test_old.silt"
#define NEW_PATH "told_test_new.silt"

/* ---- traces by hand -------------------------------------------------------------------------- */

/* "inner<middle<outer" in one module; frames may have a line: f:12. */
struct site {
        const char *path;
        unsigned n;
        uint64_t size_bytes;
};

static uint32_t make_stack(struct fabric *f, const char *path, char **texts, size_t *n_texts) {
        char *copy = strdup(path), *end = copy + strlen(copy);
        uint32_t stack = 0;

        texts[(*n_texts)++] = copy;
        while (end > copy) {
                char *begin = end, *colon;
                uint32_t line = 0;

                while (begin > copy && begin[-1] != '<')
                        begin--;
                *end = '\0';
                colon = strrchr(begin, '@');
                if (colon) {
                        line = (uint32_t)atoi(colon + 1);
                        *colon = '\0';
                }
                stack = fabric_frame(f, stack, "/usr/bin/app", begin, line ? "/home/me/app.c" : "",
                                     line);
                end = begin > copy ? begin - 1 : copy;
        }
        return stack;
}

static void make_trace(const char *path, const struct site *sites) {
        struct fabric_options o = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(path, &o);
        uint32_t thread = fabric_thread(f, 0, "app");
        char *texts[16];
        size_t n_texts = 0;

        for (; sites->path; sites++) {
                uint32_t stack = make_stack(f, sites->path, texts, &n_texts);

                for (unsigned i = 0; i < sites->n; i++)
                        fabric_alloc(f, 0, thread, stack, sites->size_bytes);
                fabric_wait(f, 1000);
        }
        fabric_end(f);
        for (size_t i = 0; i < n_texts; i++)
                free(texts[i]);
}

#define SITES(...) ((const struct site[]){__VA_ARGS__, {0}})

static char *told(const struct diff_options *o, bool *ret_found) {
        struct err err = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        int r = diff_print(out, o, ret_found, &err);

        fclose(out);
        if (r < 0)
                fail_msg("%s", err.text);
        return text;
}

static void assert_has(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part) {
        if (strstr(text, part))
                fail_msg("'%s' is in:\n%s", part, text);
}

/* expected: parts of the text, NULL-terminated; found NULL: none. */
static char *check_told(const struct site *old, const struct site *new, bool is_found) {
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        bool found;
        char *text;

        make_trace(OLD_PATH, old);
        make_trace(NEW_PATH, new);
        o.sources[NAME_OLD].path = OLD_PATH;
        o.sources[NAME_NEW].path = NEW_PATH;
        setenv("COLUMNS", "120", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        text = told(&o, &found);
        if (found != is_found)
                fail_msg("%s", text);
        return text;
}

static void test_verdicts(void **state) {
        char *text = check_told(SITES({"f<main", 100, 1000}, {"g<main", 10, 1000}),
                                SITES({"f<main", 150, 1000}, {"g<main", 10, 1000}), true);

        (void)state;
        assert_has(
                text,
                "NEW peaks at 156.2 KiB, 48.8 KiB more than OLD (+45 %); f alone grew by 48.8 KiB.\n");
        assert_has(text, "By function, live at the peak: 1 grown\n");
        assert_has(text, "  +48.8 KiB    97.7 KiB   146.5 KiB    +50 %  f");
        assert_has(text, "100 → 150 allocations\n            f");
        free(text);

        text = check_told(SITES({"f<main", 100, 1000}), SITES({"f<main", 100, 1000}), false);
        assert_has(text, "No difference above 1 %: NEW peaks at 97.7 KiB, as OLD does.\n");
        assert_has_not(text, "By function");
        free(text);

        /* one for the other: the total stays */
        text = check_told(SITES({"f<main", 100, 1000}), SITES({"g<main", 50, 2000}), true);
        assert_has(text, "NEW peaks at 97.7 KiB, as OLD does, but ");
        assert_has(text, "1 new, 1 gone\n");
        assert_has(text, "g is new with 97.7 KiB");
        assert_has(text, "f, 97.7 KiB, is gone");
        free(text);

        text = check_told(SITES({"f<main", 10, 100}), SITES({"f<main", 1000, 100}), true);
        assert_has(text, "(x 100)");
        free(text);

        text = check_told(SITES({"f<main", 1, 1}), SITES({"f<main", 1, 200}),
                          false); /* 199 bytes */
        free(text);
        text = check_told(SITES({"f<main", 1, 1}), SITES({"f<main", 1, 257}), true);
        free(text);
}

static void test_builds(void **state) {
        char *text;

        (void)state;
        /* inlined without a trace, and a last call that became a jump */
        text = check_told(SITES({"help<f<main", 100, 1000}), SITES({"f<main", 100, 1000}), false);
        free(text);
        text = check_told(SITES({"help<f<main", 100, 1000}, {"f<main", 7, 500}),
                          SITES({"f<main", 100, 1000}, {"f<main", 7, 500}), false);
        free(text);
        text = check_told(SITES({"f<step<main", 100, 1000}, {"step<main", 1, 1}),
                          SITES({"f<main", 100, 1000}, {"step<main", 1, 1}), false);
        free(text);
        /* but a new function is new, and other amounts are others */
        text = check_told(SITES({"f<main", 100, 1000}),
                          SITES({"f<main", 100, 1000}, {"help<f<main", 50, 1000}), true);
        assert_has(text, "help is new with 48.8 KiB");
        free(text);
        text = check_told(SITES({"f<step<main", 100, 1000}, {"step<main", 1, 1}),
                          SITES({"f<main", 150, 1000}, {"step<main", 1, 1}), true);
        assert_has(text, "f alone grew by 48.8 KiB");
        assert_has(text, "By call path, live at the peak: 1 new, 1 gone\n");
        free(text);
        /* another caller is another path, be the amounts as they may */
        text = check_told(SITES({"f<a<main", 100, 1000}, {"b<main", 1, 1}, {"a<main", 1, 1}),
                          SITES({"f<b<main", 100, 1000}, {"b<main", 1, 1}, {"a<main", 1, 1}), true);
        assert_has(text, "By call path, live at the peak: 1 new, 1 gone\n");
        assert_has_not(text, "By function");
        free(text);
        /* the caller has less, not more: nothing went there */
        text = check_told(SITES({"help<f<main", 100, 1000}, {"f<main", 50, 1000}),
                          SITES({"f<main", 10, 1000}), true);
        assert_has(text, "1 shrunk, 1 gone\n");
        free(text);
        text = check_told(SITES({"help<f<main", 30, 1000}, {"f<main", 50, 10}),
                          SITES({"f<main", 10, 20000}), true);
        assert_has(text, "1 grown, 1 gone\n");
        free(text);
        /* depth of recursion, numbers, suffixes, lines */
        text = check_told(SITES({"walk<walk<walk<main", 100, 1000}),
                          SITES({"walk<main", 100, 1000}), false);
        free(text);
        text = check_told(
                SITES({"app::run::{closure#0}<main", 100, 1000}, {"f.isra.0<main@3", 9, 999}),
                SITES({"app::run::{closure#4}<main", 100, 1000}, {"f.cold<main@5", 9, 999}), false);
        free(text);
}

/* Of two lines of one function the one that changed is shown, wherever it is now. */
static void test_lines(void **state) {
        char *text = check_told(SITES({"f@10<main", 100, 1000}, {"f@20<main", 50, 1000}),
                                SITES({"f@14<main", 100, 1000}, {"f@26<main", 80, 1000}), true);

        (void)state;
        assert_has(text, "f  app.c:26");
        assert_has_not(text, "app.c:14");
        free(text);
}

/* ---- chance ---------------------------------------------------------------------------------- */

/* Requests that always ask for the same; how many are under way at once goes by the seed. */
struct server {
        uint64_t seed;
        unsigned n_lost;  /* one in so many is never released; 0: all are */
        unsigned n_spike; /* so many are under way at once in the middle, for a short time */
        unsigned n_tiny;  /* other allocations, hardly any bytes */
};

static void make_server(const char *path, struct server s) {
        struct fabric_options o = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(path, &o);
        uint32_t thread = fabric_thread(f, 0, "app");
        uint32_t main = fabric_frame(f, 0, "/usr/bin/app", "main", "", 0);
        uint32_t stacks[2] = {fabric_frame(f, main, "/usr/bin/app", "parse", "", 0),
                              fabric_frame(f, main, "/usr/bin/app", "respond", "", 0)};
        uint64_t live[128];
        unsigned n_live = 0, n_frees = 0;

        for (unsigned i = 0; i < 2000; i++) {
                bool is_spike = i >= 1000 && i < 1000 + s.n_spike;

                s.seed = s.seed * 6364136223846793005ull + 1442695040888963407ull;
                while (!is_spike && n_live > (s.seed >> 40) % 10) {
                        unsigned k = (unsigned)(s.seed >> 33) % n_live;

                        if (!s.n_lost || ++n_frees % s.n_lost)
                                fabric_free(f, 0, thread, live[k]);
                        live[k] = live[--n_live];
                }
                live[n_live++] =
                        fabric_alloc(f, 0, thread, stacks[i % 2], 5000 + 10000 * (i * 7919 % 6));
                for (unsigned k = 0; k < s.n_tiny && i < 2; k++)
                        fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, stacks[i % 2], 1));
                fabric_wait(f, 1000);
        }
        fabric_end(f);
}

static bool differs(struct server old, struct server new, bool is_strict) {
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        bool found;

        o.sources[NAME_OLD].path = OLD_PATH;
        o.sources[NAME_NEW].path = NEW_PATH;
        o.is_strict = is_strict;
        make_server(OLD_PATH, old);
        make_server(NEW_PATH, new);
        free(told(&o, &found));
        return found;
}

static void test_chance(void **state) {
        unsigned n_strict = 0, n_other_work = 0;

        (void)state;
        for (unsigned i = 0; i < 20; i++) {
                const struct server old = {.seed = i}, new = {.seed = i + 100};

                n_strict += differs(old, new, true);
                assert_false(differs(old, new, false));
                assert_true(differs(old, (struct server){.seed = i + 100, .n_lost = 100}, false));
                assert_true(differs(old, (struct server){.seed = i + 100, .n_spike = 60}, false));
                n_other_work += differs(old, (struct server){.seed = i + 100, .n_tiny = 30}, false);
        }
        assert_true(n_strict >= 15); /* there was something to say nothing about */
        assert_true(n_other_work >= 15);
}

/* What rises and falls once, by another height each time, is no chance: the same work held longer. */
static void test_no_chance(void **state) {
        const char *paths[NAME_N_SIDES] = {OLD_PATH, NEW_PATH};
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        bool found;
        char *text;

        (void)state;
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                struct fabric_options fo = {.seed = 1, .max_processes = 1, .max_threads = 1};
                struct fabric *f = fabric_new(paths[side], &fo);
                uint32_t thread = fabric_thread(f, 0, "app");
                uint32_t stack = fabric_frame(f, 0, "/usr/bin/app", "load", "", 0);
                uint64_t live[1000];

                for (unsigned i = 0; i < 1000; i++) {
                        live[i] = fabric_alloc(f, 0, thread, stack, 1000);
                        fabric_wait(f, 1000);
                        if (i >= 800 + 100 * side)
                                fabric_free(f, 0, thread, live[i]);
                }
                for (unsigned i = 0; i < 800 + 100 * side; i++) {
                        fabric_free(f, 0, thread, live[i]);
                        fabric_wait(f, 1000);
                }
                fabric_end(f);
                o.sources[side].path = paths[side];
        }
        text = told(&o, &found);
        assert_true(found);
        assert_has(text, "load alone grew by 97.7 KiB");
        free(text);
}

/* ---- random ones ----------------------------------------------------------------------------- */

static uint64_t random_state = 11;

static uint64_t draw(uint64_t below) {
        random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
        return (random_state >> 33) % below;
}

static void make_random(const char *path) {
        struct fabric_options o = {.seed = draw(1000),
                                   .n_stacks = 3 + (unsigned)draw(60),
                                   .slice_events = 20 + (unsigned)draw(100),
                                   .max_processes = 1 + (unsigned)draw(3),
                                   .max_threads = 3,
                                   .checkpoint_every = (unsigned)draw(4),
                                   .max_step_us = draw(2) ? 40 : 4000,
                                   .with_paths = true};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, (unsigned)draw(1500));
        fabric_end(f);
}

static void check_widths(const char *text, size_t width) {
        while (*text) {
                size_t n = strcspn(text, "\n"), cells = 0;

                assert_true(n == 0 || text[n - 1] != ' ');
                for (size_t i = 0; i < n; i++)
                        cells += ((unsigned char)text[i] & 0xc0) != 0x80;
                if (cells > width)
                        fail_msg("%zu cells: %.*s", cells, (int)n, text);
                text += n + 1;
        }
}

static void test_random_text(void **state) {
        static const char *const columns[] = {"80", "120", "200"};

        (void)state;
        for (unsigned round = 0; round < 60; round++) {
                struct request asked = {.has_metric = true, .min_share_pct = -1};
                struct diff_options o = DIFF_OPTIONS_DEFAULT;
                const char *width = columns[round % 3];
                bool found;
                char *text;

                make_random(OLD_PATH);
                make_random(NEW_PATH);
                o.sources[NAME_OLD] = (struct diff_source){OLD_PATH, &asked};
                o.sources[NAME_NEW] = (struct diff_source){draw(4) ? NEW_PATH : OLD_PATH, &asked};
                asked.metric = (enum query_metric)draw(QUERY_CPU);
                asked.per_second = asked.metric != QUERY_PEAK && asked.metric != QUERY_MAPPED &&
                                   asked.metric != QUERY_END && draw(2);
                o.min_change_pct = (double)draw(4);
                asked.full = draw(4) == 0;
                setenv("COLUMNS", width, 1);
                setenv("LC_ALL", draw(2) ? "C" : "C.UTF-8", 1);
                text = told(&o, &found);
                if (!asked.full)
                        check_widths(text, (size_t)atoi(width));
                free(text);
                o.json = true;
                text = told(&o, &found);
                assert_has(text, found ? "\"found\":true" : "\"found\":false");
                free(text);
        }
}

static void test_random_checks(void **state) {
        (void)state;
        for (unsigned round = 0; round < 60; round++) {
                struct check_options o = {.source = {NEW_PATH, &request_default}};
                enum check_status status;
                struct err err = {0};
                char *text = NULL;
                size_t n;
                FILE *out;

                make_random(OLD_PATH);
                make_random(NEW_PATH);
                o.against = OLD_PATH;
                for (unsigned i = 0; i <= LIMIT_AGAINST; i++) {
                        struct limit l = {.kind = (enum limit_kind)i,
                                          .unit = i == LIMIT_GROWTH        ? LIMIT_IN_BYTES_PER_S
                                                  : i == LIMIT_ALLOCATIONS ? LIMIT_IN_COUNT
                                                  : i == LIMIT_TEMPORARY_SHARE ? LIMIT_IN_PERCENT
                                                  : i == LIMIT_AGAINST         ? LIMIT_IN_PERCENT
                                                                               : LIMIT_IN_BYTES,
                                          .limit = (double)draw(2000),
                                          .text = "12K",
                                          .function = i == LIMIT_FUNCTION ? "walk" : NULL,
                                          .metric = i == LIMIT_AGAINST ? "end" : NULL,
                                          .rate_s = 60,
                                          .rate_name = "min"};

                        if (draw(2) && i != LIMIT_LEAKED) /* these traces have no graph */
                                vec_push(&o.limits, l);
                }
                setenv("COLUMNS", "80", 1);
                setenv("LC_ALL", draw(2) ? "C" : "C.UTF-8", 1);
                o.json = draw(2);
                out = open_memstream(&text, &n);
                if (check_print(out, &o, &status, &err) < 0)
                        fail_msg("%s", err.text);
                fclose(out);
                if (!o.json)
                        check_widths(text, 80);
                free(text);
                vec_free(&o.limits);
        }
}

static void test_percent(void **state) {
        struct words w;

        (void)state;
        assert_string_equal(words_percent(1000000, 1, &w), "-99.9 %");
        assert_string_equal(words_percent(1000000, 4000, &w), "-99.6 %");
        assert_string_equal(words_percent(1000000, 0, &w), "-100 %");
        assert_string_equal(words_percent(200, 100, &w), "-50 %");
        assert_string_equal(words_percent(0, 100, &w), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdicts),      cmocka_unit_test(test_builds),
                cmocka_unit_test(test_lines),         cmocka_unit_test(test_chance),
                cmocka_unit_test(test_no_chance),     cmocka_unit_test(test_random_text),
                cmocka_unit_test(test_random_checks), cmocka_unit_test(test_percent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
