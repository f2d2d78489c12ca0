/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "query/testing/fabric.h"
#include "query/testing/sums_trace.h"
#include "report/report.h"
#include "request/testing/request_made.h"
#include "show/frame.h"
#include "show/style.h"
#include "show/testing/server_trace.h"
#include "show/testing/toy_view.h"
#include "trace/writer.h"

#define TRACE_PATH "report_test.silt"

static int write_story(void **state) {
        (void)state;
        server_trace_write(TRACE_PATH);
        return 0;
}

/* The report as text, to be freed. */
static char *print(const char *asked, bool json, const char *columns, const char *locale) {
        struct request request = request_made(asked);
        const struct show_options o = {.path = TRACE_PATH, .request = &request, .json = json};
        struct err e = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        setenv("COLUMNS", columns, 1);
        setenv("LC_ALL", locale, 1);
        assert_int_equal(report_print(out, &o, &e), 0);
        fclose(out);
        request_done(&request);
        return text;
}

/* Of a recording of totals what needs events is unknown, and not 0. */
static void test_sums(void **state) {
        static const char *const unknown[] = {"reallocations",  "failed_allocations",
                                              "unknown_frees",  "temporary_allocations",
                                              "threads",        "lost_events",
                                              "peak_rss_bytes", "complete_stacks_pct",
                                              "lifetimes",      "sizes",
                                              "blocked_s"};
        struct request temporary = request_made("by=temporary");
        const struct show_options o = {.path = TRACE_PATH, .request = &temporary};
        struct err e = {0};
        char *text, *json;

        sums_trace_write(TRACE_PATH);
        text = print("", false, "80", "C");
        assert_non_null(strstr(text, "temporary    unknown"));
        assert_non_null(strstr(text, "reallocations  unknown"));
        assert_non_null(strstr(text, "threads        unknown"));
        assert_null(strstr(text, "How long blocks lived"));
        assert_null(strstr(text, "LEAK SUMMARY"));
        assert_null(strstr(text, "stacks complete"));
        free(text);
        text = print("blocks", false, "80", "C");
        assert_non_null(strstr(text, "Single blocks are unknown"));
        free(text);
        text = print("histogram=lifetime", false, "80", "C");
        assert_non_null(strstr(text, "What was freed is unknown"));
        free(text);
        json = print("", true, "80", "C");
        for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
                struct str part = {0};

                str_addf(&part, "\"%s\":null", unknown[i]);
                if (!strstr(json, str_text(&part)))
                        fail_msg("%s is not null", unknown[i]);
                str_done(&part);
        }
        free(json);
        assert_true(report_print(stdout, &o, &e) < 0);
        assert_string_equal(e.key, "by");
        request_done(&temporary);
        server_trace_write(TRACE_PATH);
}

static char *report_of(const char *asked, const char *columns, const char *locale) {
        return print(asked, false, columns, locale);
}

static char *json_of(const char *asked) {
        return print(asked, true, "80", "C");
}

static void assert_has(const char *text, const char *part) {
        if (!strstr(text, part)) {
                print_error("'%s' is not in:\n%s\n", part, text);
                fail();
        }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void check_function(const char *function, bool guess, bool full, bool utf8,
                           const char *expected) {
        struct name_frame f = {.function = function,
                               .file = "",
                               .module = "/usr/lib/libx.so.1",
                               .offset = 0x1234,
                               .guess = guess};
        struct names *names = NULL;
        struct err err = {0};
        struct str s = {0};

        assert_int_equal(names_load(&(struct name_sources){0}, &names, &err), 0);
        frame_add_function(&s, &(struct frame_names){.names = names}, &f, false, full, utf8);
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
        names_free(names);
}

static void test_names(void **state) {
        const char *generic = "void shop::dispatch<shop::Request, shop::Answer>(shop::Request&)";

        (void)state;
        check_function("main", false, false, true, "main");
        check_function("shop::Config::load(std::string const&)", false, false, true,
                       "shop::Config::load");
        check_function("shop::Map<a, b, c, d, e, f, g, h, i>::at(int)", false, false, true,
                       "shop::Map<…>::at");
        check_function("shop::Map<a, b, c, d, e, f, g, h, i>::at(int)", false, false, false,
                       "shop::Map<..>::at");
        check_function(generic, false, true, true, generic);
        check_function("a\nb", false, false, true, "a\\x0ab");
}

static void test_names_of_unnamed(void **state) {
        (void)state;
        check_function("", false, false, true, "libx.so.1+0x1234");
        check_function("near", true, false, true, "libx.so.1+0x1234");
        check_function("near", true, true, false, "near ~");
        check_function("near", true, true, true, "near ≈");
}

/* ---- style ----------------------------------------------------------------------------------- */

static void test_cut(void **state) {
        struct style s = {.utf8 = true};
        struct str t = {0};

        (void)state;
        style_add_cut(&s, &t, "abcdefghij", 10);
        assert_string_equal(str_text(&t), "abcdefghij");
        str_clear(&t);
        style_add_cut(&s, &t, "abcdefghij", SIZE_MAX);
        assert_string_equal(str_text(&t), "abcdefghij");
        str_clear(&t);
        style_add_cut(&s, &t, "abcdefghij", 5);
        assert_string_equal(str_text(&t), "ab…ij");
        str_clear(&t);
        style_add_cut(&s, &t, "äöüäöüäöü", 5);
        assert_string_equal(str_text(&t), "äö…öü");
        s.utf8 = false;
        str_clear(&t);
        style_add_cut(&s, &t, "abcdefghij", 6);
        assert_string_equal(str_text(&t), "ab..ij");
        str_done(&t);
}

static void test_wrap(void **state) {
        char *text = NULL;
        size_t n;
        struct style s = {.width = 20};

        (void)state;
        s.out = open_memstream(&text, &n);
        style_wrap(&s, "of the peak there were 5.7 MiB, 12 % of all", 2);
        fclose(s.out);
        assert_string_equal(text, "of the peak there\n  were 5.7 MiB, 12 %\n  of all\n");
        free(text);
}

static void check_clean(const char *text, const char *expected) {
        struct str s = {0};

        style_add_clean(&s, text);
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
}

static void test_clean(void **state) {
        (void)state;
        check_clean("", "");
        check_clean("a b~ äöü … 😀", "a b~ äöü … 😀");
        check_clean("a\nb\tc\033[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f");
        check_clean("\xc2\x9b!\xc2\xa0", "\\u{9b}!\xc2\xa0");
        check_clean("\x80 \xff \xc0\xaf \xc3", "\\x80 \\xff \\xc0\\xaf \\xc3");
        check_clean("\xed\xa0\x80 \xe0\x80\xaf \xf4\x90\x80\x80",
                    "\\xed\\xa0\\x80 \\xe0\\x80\\xaf \\xf4\\x90\\x80\\x80");
        check_clean("\xe2\x82", "\\xe2\\x82");
        check_clean("a\xe2\x80\xae!", "a\\u{202e}!");
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Those lines stay whole, so that they can be searched for. */
static bool is_of_memcheck(const char *line) {
        return strstr(line, "in use at ") || strstr(line, "total heap usage: ");
}

static void check_width(const char *text, size_t width) {
        while (*text) {
                size_t n = strcspn(text, "\n");
                _cleanup_free_ char *line = strndup(text, n);

                if (str_width(line) > width && !is_of_memcheck(line)) {
                        print_error("%zu cells in a line, %zu allowed: %s\n", str_width(line),
                                    width, line);
                        fail();
                }
                text += n + (text[n] == '\n');
        }
}

/* Words, whatever lines they are in. */
static void assert_says(const char *text, const char *words) {
        _cleanup_free_ char *flat = strdup(text);

        for (char *p = flat; *p; p++)
                if (*p == '\n')
                        *p = ' ';
        assert_has(flat, words);
}

static void test_text_of_all_processes(void **state) {
        static const char *const widths[] = {"60", "80", "200"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
                _cleanup_free_ char *text = report_of("", widths[i], "C");

                check_width(text, (size_t)atoi(widths[i]));
                assert_says(
                        text,
                        "fabric --weave (pid 100) held all of the 7.5 MiB that it and 1 other process together held "
                        "at the peak, after 1.04 s of 2.1 s. When pid 100 exited, 3.2 MiB in 2,040 blocks "
                        "were still allocated. When the last of them (pid 101) exited, 4.9 KiB in 1 block was");
                assert_says(text, "] fabric (pid 100): shop::PriceCache::insert: ");
                assert_has(text, " --process 100");
        }
}

static void test_text(void **state) {
        static const char *const widths[] = {"60", "80", "100", "120", "200"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
                for (unsigned ascii = 0; ascii < 2; ascii++) {
                        _cleanup_free_ char *text =
                                report_of("process=main", widths[i], ascii ? "C" : "C.UTF-8");

                        check_width(text, (size_t)atoi(widths[i]));
                        assert_has(text, "fabric --weave ran for 2.1 s and peaked at 7.5 MiB");
                        assert_has(
                                text,
                                "HEAP SUMMARY:\n    in use at exit: 3,400,000 bytes in 2,040 blocks\n"
                                "  total heap usage: 12,041 allocs, 10,001 frees,");
                        assert_has(text,
                                   i ? ", 9,660,000 bytes allocated\n  reachability not examined\n"
                                     : ",\n    9,660,000 bytes allocated\n");
                        assert_has(text, "in shop::PriceCache::insert  cache.cc:77\n");
                        assert_has(text, ascii ? "shop::Server::serve >" : "shop::Server::serve →");
                        assert_has(text, "pid 107 not followed");
                        assert_has(text, "worker\\x1b\\x0a1 ");
                        assert_has(text, "executable.\\x0d\\x9b");
                        if (i > 0)
                                assert_has(text, " blocks   "); /* columns stand apart */
                        for (const char *p = text; *p; p++) {
                                assert_true((unsigned char)*p >= 0x20 || *p == '\n');
                                assert_true(!ascii || (unsigned char)*p < 0x80);
                        }
                }
}

/* The command behind the first "Next:", its lines put together as a shell does. */
static void read_command(const char *text, struct str *ret) {
        const char *at = strstr(text, "Next: silt ");

        assert_non_null(at);
        for (at += strlen("Next: "); *at && *at != '\n'; at++) {
                if (at[0] == '\\' && at[1] == '\n')
                        at += 1 + strspn(at + 2, " ");
                else
                        str_addn(ret, at, 1);
        }
}

static void test_commands_can_be_copied(void **state) {
        _cleanup_free_ char *one_line = report_of("", "240", "C");
        struct str expected = {0};
        unsigned n_broken = 0;

        (void)state;
        read_command(one_line, &expected);
        for (unsigned width = 60; width < 120; width++) {
                char columns[16];
                _cleanup_free_ char *text = NULL;
                struct str command = {0};

                snprintf(columns, sizeof(columns), "%u", width);
                text = report_of("", columns, "C");
                check_width(text, width);
                read_command(text, &command);
                assert_string_equal(str_text(&command), str_text(&expected));
                n_broken += strstr(text, " \\\n") != NULL;
                str_done(&command);
        }
        assert_true(n_broken > 0);
        str_done(&expected);
}

/* The next step names frames as this report did. */
static void test_commands_keep_rules(void **state) {
        FILE *rules = fopen("report_test.rules", "w"), *out;
        struct request request = request_made("");
        const struct show_options o = {.path = TRACE_PATH, .request = &request};
        _cleanup_free_ char *text = NULL;
        struct err e = {0};
        size_t n;

        (void)state;
        assert_non_null(rules);
        fclose(rules);
        setenv("COLUMNS", "240", 1);
        assert_int_equal(request_set(&request, "rules", "report_test.rules", &e), 0);
        out = open_memstream(&text, &n);
        assert_int_equal(report_print(out, &o, &e), 0);
        fclose(out);
        assert_has(strstr(text, "Next: silt "), " --rules report_test.rules ");
        request_done(&request);
        remove("report_test.rules");
}

static void test_text_of_window(void **state) {
        _cleanup_free_ char *text = NULL;

        (void)state;
        text = report_of("from=1.5s&by=growth", "80", "C");
        assert_has(text, "Totals of the window");
        assert_has(text, "Growth of live bytes");
        assert_null(strstr(text, "libreport.so.2+"));
}

static void test_text_of_blocks(void **state) {
        _cleanup_free_ char *text = NULL;
        size_t n_lines = 0;

        (void)state;
        text = report_of("blocks", "100", "C");
        for (const char *p = text; *p; p++)
                n_lines += *p == '\n';
        assert_int_equal(n_lines, 12042 + 2);
        assert_has(text, "12,042 blocks in order of allocation");
        assert_null(strchr(text, '\033'));
        assert_has(text, "worker\\x1b\\x0a1 ");
        assert_has(text, "shop::split_words");
        free(text);
        n_lines = 0;
        text = report_of("blocks&top=5", "100", "C");
        for (const char *p = text; *p; p++)
                n_lines += *p == '\n';
        assert_int_equal(n_lines, 5 + 2);
        assert_has(text, "The first 5 of 12,042 blocks in order of allocation");
}

static void test_text_of_tree(void **state) {
        _cleanup_free_ char *text = NULL, *wide = NULL;

        (void)state;
        text = report_of("tree", "80", "C");
        assert_string_equal(
                text,
                "libreport.so.2+0x102c0 requested 5.7 MiB of the 7.5 MiB live at the peak (76 %).\n"
                "fabric (pid 100) and 1 other process together.\n"
                "\n"
                "From the start of the program down: live at the peak\n"
                "     total             itself\n"
                "   6.1 MiB  81.0 %             main  main.cc\n"
                "   5.7 MiB  75.9 %    5.7 MiB  + libreport.so.2+0x102c0\n"
                " 390.6 KiB   5.1 %  390.6 KiB  ` shop::Config::load  config.cc\n"
                "   1.4 MiB  19.0 %    1.4 MiB  shop::Server::serve > shop::dispatch<..> >\n"
                "                               shop::Session::on_request >\n"
                "                               shop::PriceCache::insert  cache.cc\n");
        wide = report_of("tree", "160", "C.UTF-8");
        assert_has(wide, "  1.4 MiB  19.0 %    1.4 MiB  shop::Server::serve → shop::dispatch<…> → "
                         "shop::Session::on_request → shop::PriceCache::insert  cache.cc\n");
}

static void test_text_of_groups(void **state) {
        _cleanup_free_ char *text = NULL, *wide = NULL;

        (void)state;
        text = report_of("group-by=function&top=4", "80", "C");
        assert_string_equal(
                text,
                "libreport.so.2+0x102c0 requested 5.7 MiB of the 7.5 MiB live at the peak (76 %);\n"
                "2 of 7 functions make up 90 % of it.\n"
                "fabric (pid 100) and 1 other process together.\n"
                "\n"
                "By function: live at the peak (4 of 7)\n"
                "             itself  + callees      blocks  function\n"
                "    5.7 MiB  75.9 %    5.7 MiB           1  libreport.so.2+0x102c0\n"
                "    1.4 MiB  19.0 %    1.4 MiB       1,000  shop::PriceCache::insert  cache.cc\n"
                "  390.6 KiB   5.1 %  390.6 KiB          40  shop::Config::load  config.cc\n"
                "        0 B   0.0 %    6.1 MiB           0  main  main.cc\n"
                "         .. 3 more: use --top N or --full to see them\n");
        wide = report_of("group-by=function&top=4", "160",
                         "C.UTF-8"); /* the cache grows all the time */
        assert_has(wide, "  ▁▁▂▂▂▃▃▃▄▄▄▅▅▅▅▆▆▆▇▇▇██   shop::PriceCache::insert  cache.cc\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void test_json(void **state) {
        _cleanup_free_ char *text = NULL, *all = NULL;
        static const char *const parts[] = {
                "{\"schema\":\"silt.report/1\",\"command\":[\"./fabric\",\"--weave\"],\"pid\":100,",
                "\"mode\":\"exact\"",
                "\"totals\":{\"allocations\":12041,\"frees\":10001,\"reallocations\":0,",
                "\"bytes_allocated\":9660000,\"temporary_allocations\":10000,\"peak_live_bytes\":7900000,"
                "\"peak_live_blocks\":1041,",
                "\"end_live_bytes\":3400000,\"end_live_blocks\":2040,\"peak_rss_bytes\":11000000,\"lost_events\":0,"
                "\"threads\":2,\"sites\":5",
                "\"ended\":\"exit\"",
                "\"findings\":[{\"kind\":\"growing\"",
                "\"top\":[{\"metric\":\"end\",\"sites\":[{\"bytes\":3000000,\"blocks\":2000,\"allocations\":2000,"
                "\"stack\":[{\"function\":\"shop::PriceCache::insert(int, shop::Price const&)\"",
                "{\"metric\":\"temporary\",\"sites\":[{\"bytes\":260000,\"blocks\":10000,",
                "\"module\":\"/usr/bin/order_server\",\"inlined\":false}",
                "\"quality\":{\"complete_stacks_pct\":100",
        };

        (void)state;
        text = json_of("by=end");
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                assert_has(text, parts[i]);
        all = json_of("by=end&process=all");
        assert_has(all, "\"totals\":{\"allocations\":12042,");
        assert_has(all, "\"end_live_bytes\":5000,");
}

/* The story without the end of its file. */
static void test_cut_trace_is_not_exact(void **state) {
        _cleanup_free_ char *whole = NULL, *cut = NULL, *text = NULL;
        struct stat st;

        (void)state;
        whole = json_of("");
        assert_has(whole, "\"exact\":true");
        assert_int_equal(stat(TRACE_PATH, &st), 0);
        assert_int_equal(truncate(TRACE_PATH, st.st_size - 20), 0);
        cut = json_of("");
        assert_has(cut, "\"exact\":false");
        text = report_of("", "200", "C");
        assert_has(text, "not exact");
        server_trace_write(TRACE_PATH);
}

/* Whoever reads JSON must be able to tell a guess from a name, in every view. */
static void test_json_of_guesses(void **state) {
        struct fabric_options fabric = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &fabric);
        const char *frame =
                "\"function\":\"near\",\"file\":\"\",\"line\":0,"
                "\"module\":\"/lib/libx.so\",\"inlined\":false,\"guess\":true,\"offset\":";
        uint32_t stack, thread = fabric_thread(f, 0, "main");

        (void)state;
        stack = fabric_frame(f, 0, "/lib/libx.so", "near", "", 0);
        fabric_guess(f);
        fabric_alloc(f, 0, thread, stack, 10);
        fabric_end(f);
        for (int view = 0; view < 3; view++) {
                static const char *const views[] = {"", "blocks", "group-by=site"};
                char *text = json_of(views[view]);

                assert_has(text, frame);
                free(text);
        }
        server_trace_write(TRACE_PATH);
}

/* What a process had before it was attached to, as far as it is known. */
static void test_prior(void **state) {
        static const struct {
                struct trace_prior row;
                const char *text, *json;
        } cases[] = {
                {{.age_ns = 11520000000000,
                  .anon_bytes = 500000000,
                  .allocator = "glibc",
                  .flags = TRACE_PRIOR_HELD | TRACE_PRIOR_WHOLE | TRACE_PRIOR_MAPPED,
                  .held_bytes = 412000000,
                  .free_bytes = 23000000,
                  .n_arenas = 5,
                  .n_mapped = 2,
                  .mapped_bytes = 8192},
                 "Recording started 3 h 12 min after the program, when it had 476.8 MiB of its own memory: "
                 "blocks allocated earlier are not seen. glibc's 5 arenas held 392.9 MiB then, about 371.0 MiB in use and "
                 "21.9 MiB free; 2 blocks outside them took 8.0 KiB. ",
                 "\"prior\":{\"age_s\":11520.000,\"anon_bytes\":500000000,\"allocators\":[{\"name\":\"glibc\","
                 "\"held_bytes\":412000000,\"arenas\":5,\"free_bytes\":23000000,\"used_bytes\":389000000,"
                 "\"free_is_whole\":true,\"mapped_blocks\":2,\"mapped_bytes\":8192}]}"},
                {{.age_ns = 2000000000,
                  .allocator = "glibc",
                  .flags = TRACE_PRIOR_HELD,
                  .held_bytes = 5000000,
                  .free_bytes = 1000000,
                  .n_arenas = 1},
                 "Recording started 2 s after the program: blocks allocated earlier are not seen. glibc's "
                 "arena held 4.8 MiB then, at most 3.8 MiB in use and at least 976.6 KiB free. ",
                 "\"used_bytes\":4000000,\"free_is_whole\":false}]}"},
                {{.age_ns = 2000000000,
                  .allocator = "mimalloc",
                  .flags = TRACE_PRIOR_HELD | TRACE_PRIOR_WHOLE,
                  .held_bytes = 5000000,
                  .free_bytes = 1000000},
                 "mimalloc held 4.8 MiB then, about 3.8 MiB in use and 976.6 KiB free. ",
                 "{\"name\":\"mimalloc\",\"held_bytes\":5000000,\"free_bytes\":1000000,"
                 "\"used_bytes\":4000000,\"free_is_whole\":true}]}"},
                {{.allocator = ""},
                 "Recording started while the program was running: blocks allocated earlier are not seen. ",
                 "\"prior\":{\"age_s\":0.000,\"anon_bytes\":0,\"allocators\":[]}"},
        };
        struct fabric_options fabric = {.seed = 1, .max_processes = 1, .max_threads = 1};
        char *text;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct fabric *f = fabric_new(TRACE_PATH, &fabric);

                fabric_alloc(f, 0, fabric_thread(f, 0, "main"),
                             fabric_frame(f, 0, "/bin/app", "f()", "f.cc", 7), 100);
                trace_put_prior(fabric_writer(f), &cases[i].row);
                fabric_end(f);
                text = report_of("", "400", "C");
                for (char *c = text; *c; c++) /* lines end where they like */
                        if (*c == '\n')
                                *c = ' ';
                assert_has(text, cases[i].text);
                free(text);
                text = json_of("");
                assert_has(text, cases[i].json);
                free(text);
        }
        server_trace_write(TRACE_PATH);
        text = json_of("");
        assert_has(text, "\"prior\":null");
        free(text);
}

/* A site that is several call paths names what most of it was asked through, not what came first. */
static void test_via_of_merged_sites(void **state) {
        static const struct {
                const char *function;
                uint32_t line; /* other paths through the same function */
                uint64_t size_bytes;
        } calls[] = {
                {"std::deque<int>::push_back(int)", 1, 10},
                {"std::vector<int>::reserve(int)", 1, 3000},
                {"std::vector<int>::reserve(int)", 2, 3000},
                {"std::list<int>::push_back(int)", 1, 5000},
        };
        struct fabric_options fabric = {.seed = 1, .max_processes = 1, .max_threads = 1};

        (void)state;
        for (size_t n = 1; n <= ARRAY_SIZE(calls); n++) {
                struct fabric *f = fabric_new(TRACE_PATH, &fabric);
                uint32_t thread = fabric_thread(f, 0, "main");
                uint32_t fill = fabric_frame(f, 0, "/bin/app", "fill()", "fill.cc", 7);
                char *text;

                for (size_t i = 0; i < n; i++)
                        fabric_alloc(f, 0, thread,
                                     fabric_frame(f, fill, "/bin/app", calls[i].function,
                                                  "/usr/include/c++/12/x.h", calls[i].line),
                                     calls[i].size_bytes);
                fabric_end(f);
                text = report_of("by=allocated", "120", "C");
                assert_has(text, n == 1 ? "fill  fill.cc:7  via std::deque<int>::push_back\n"
                                        : "  via std::vector<int>::reserve and others\n");
                free(text);
        }
        server_trace_write(TRACE_PATH);
}

/* A view of a page's size, asked the same by a URL's query, has the same figures. */
static void check_toy(const char *url) {
        static const char *const parts[] = {"\"window\":", "\"totals\":", "\"self\":"};
        struct err e = {0};
        char *report = json_of(url), *toy = NULL;
        size_t n;
        FILE *out = open_memstream(&toy, &n);

        assert_int_equal(toy_view(out, TRACE_PATH, url, strlen(url), &e), 0);
        fclose(out);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                const char *a = strstr(report, parts[i]), *b = strstr(toy, parts[i]);

                assert_non_null(a);
                assert_non_null(b);
                assert_memory_equal(a, b, (size_t)(strchr(a, '}') - a));
        }
        free(report);
        free(toy);
}

static void test_toy_view(void **state) {
        (void)state;
        check_toy("group-by=function");
        check_toy("group-by=function&by=count&process=all");
        check_toy("?by=count&from=0.5s&group-by=line&to=1.5s&process=all");
}

static void refused(const char *path, const char *asked, struct err *e) {
        struct request request = request_made(asked);
        const struct show_options o = {.path = path, .request = &request};

        *e = (struct err){0};
        assert_true(report_print(stdout, &o, e) < 0);
        request_done(&request);
}

static void test_errors(void **state) {
        struct err e;

        (void)state;
        refused("does-not-exist.silt", "", &e);
        assert_string_equal(
                e.text,
                "cannot open 'does-not-exist.silt': No such file or directory: check the path");
        refused(TRACE_PATH, "process=4711", &e);
        assert_has(e.text, "4711");
        assert_string_equal(e.key, "process");
        refused(TRACE_PATH, "from=360000s", &e);
        assert_has(e.text, "the recording is only ");
        assert_string_equal(e.key, "from");
        assert_has(e.text, " long: choose an earlier time");
        refused(TRACE_PATH, "from=360000s&blocks", &e);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_names_of_unnamed),
                cmocka_unit_test(test_cut),
                cmocka_unit_test(test_wrap),
                cmocka_unit_test(test_clean),
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_text_of_all_processes),
                cmocka_unit_test(test_commands_can_be_copied),
                cmocka_unit_test(test_commands_keep_rules),
                cmocka_unit_test(test_text_of_window),
                cmocka_unit_test(test_text_of_blocks),
                cmocka_unit_test(test_text_of_tree),
                cmocka_unit_test(test_text_of_groups),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_cut_trace_is_not_exact),
                cmocka_unit_test(test_json_of_guesses),
                cmocka_unit_test(test_prior),
                cmocka_unit_test(test_via_of_merged_sites),
                cmocka_unit_test(test_toy_view),
                cmocka_unit_test(test_errors),
        };

        return cmocka_run_group_tests(tests, write_story, NULL);
}
