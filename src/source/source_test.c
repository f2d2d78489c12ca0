/* SPDX-License-Identifier: MIT */
/* A made-up program with known figures, its source beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "query/query.h"
#include "query/testing/fabric.h"
#include "request/testing/request_made.h"
#include "source/source.h"

#define TRACE_PATH "source_test.silt"

static const char cache_cc[] = "#include \"cache.h\"\n"                 /* 1 */
                               "\n"                                     /* 2 */
                               "static char *make(int n) {\n"           /* 3 */
                               "\treturn new char[n];\n"                /* 4 */
                               "}\n"                                    /* 5 */
                               "\n"                                     /* 6 */
                               "void Cache::insert(int key) {\n"        /* 7 */
                               "\tif (key < 0)\n"                       /* 8 */
                               "\t\treturn;\n"                          /* 9 */
                               "\tentries.push_back(make(key));\n"      /* 10 */
                               "\tlast = new Key(key); /* \033[2J */\n" /* 11 */
                               "}\n";                                   /* 12 */

static char cache_path[512], other_path[512];

static void write_source(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

/* insert: 1,000 bytes on line 10 through make (3 blocks), 200 of them a vector's (1 block); 64 on line 11 (1 block, released).
 * An instance of a template in another file; a function of the same name in a third that is not there. */
static int write_trace(void **state) {
        struct fabric_options o = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 1000,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 10};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        const char *exe = "/bin/shop";
        uint32_t main_stack, insert10, insert11, make, grown, tint, tlong, list, thread, serve,
                closure, push, ticks;
        char cwd[256];

        (void)state;
        assert_non_null(getcwd(cwd, sizeof(cwd)));
        snprintf(cache_path, sizeof(cache_path), "%s/cache.cc", cwd);
        snprintf(other_path, sizeof(other_path), "%s/table.h", cwd);
        write_source(cache_path, cache_cc);
        write_source(other_path, "template <class T> void Table<T>::add(T x) {\n"
                                 "  rows.push_back(x);\n"
                                 "}\n");
        main_stack = fabric_frame(f, 0, exe, "main", "/gone/main.cc", 5);
        insert10 = fabric_frame(f, main_stack, exe, "Cache::insert(int)", cache_path, 10);
        make = fabric_frame(f, insert10, exe, "make", cache_path, 4);
        grown = fabric_frame(f, insert10, exe,
                             "std::vector<char*, std::allocator<char*> >::push_back(char*&&)",
                             "/usr/include/c++/12/bits/stl_vector.h", 1280);
        insert11 = fabric_frame(f, main_stack, exe, "Cache::insert(int)", cache_path, 11);
        tint = fabric_frame(f, main_stack, exe, "void Table<int>::add(int)", other_path, 2);
        tlong = fabric_frame(f, main_stack, exe, "void Table<long>::add(long)", other_path, 2);
        list = fabric_frame(f, main_stack, exe, "List::insert(int)", "/gone/list.cc", 99);
        serve = fabric_frame(f, main_stack, exe, "app::serve", "/gone/app.rs", 10);
        closure = fabric_frame(f, main_stack, exe, "app::serve::{{closure}}", "/gone/app.rs", 12);
        ticks = fabric_frame(f, main_stack, exe, "app::run_ticks::{{closure}}", "/gone/app.rs", 30);
        push = fabric_frame(f, main_stack, exe, "List::push_back(int)", "/gone/list.cc", 50);
        thread = fabric_thread(f, 0, "main");
        fabric_alloc(f, 0, thread, make, 300);
        fabric_alloc(f, 0, thread, make, 400);
        fabric_alloc(f, 0, thread, make, 100);
        fabric_alloc(f, 0, thread, grown, 200);
        fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, insert11, 64));
        fabric_alloc(f, 0, thread, tint, 4000);
        fabric_alloc(f, 0, thread, tlong, 4000);
        fabric_alloc(f, 0, thread, list, 660);
        fabric_alloc(f, 0, thread, serve, 100);
        fabric_alloc(f, 0, thread, closure, 150);
        fabric_alloc(f, 0, thread, push, 50);
        fabric_alloc(f, 0, thread, ticks, 40);
        fabric_end(f);
        return 0;
}

static int print(struct source_options o, const char *what, const char *columns, char **ret,
                 struct err *err) {
        size_t n;
        FILE *out = open_memstream(ret, &n);
        int r;

        o.view.path = TRACE_PATH;
        o.what = what;
        setenv("COLUMNS", columns, 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        r = source_print(out, &o, err);
        fclose(out);
        return r;
}

static void expect_text(struct source_options o, const char *what, const char *columns,
                        const char *expected) {
        struct err err = {0};
        char *text;

        assert_int_equal(print(o, what, columns, &text, &err), 0);
        for (char *at; (at = strstr(text, "cache.cc:")) && at > text && at[-1] == '/';) {
                char *line = at; /* the folder of the test is nobody's business */

                while (line > text && line[-1] != '\n')
                        line--;
                memmove(line, at, strlen(at) + 1);
                break;
        }
        if (strcmp(text, expected) != 0) {
                print_error("%s\n--- is not\n%s", text, expected);
                fail();
        }
        free(text);
}

#define usual SOURCE_OPTIONS_DEFAULT

static void test_function(void **state) {
        (void)state;
        expect_text(
                usual, "Cache::insert", "80",
                "Cache::insert in cache.cc, with its callees, requested 1000 B of the 9.8 KiB\n"
                "live at the peak (10 %); line 10 alone 1000 B.\n"
                "\n"
                "cache.cc:7-12\n"
                "  at peak   allocs  at end  line   > partly or wholly in its callees\n"
                "                               7 │ void Cache::insert(int key) {\n"
                "                               8 │         if (key < 0)\n"
                "                               9 │                 return;\n"
                "   1000 B>       4  1000 B    10 │         entries.push_back(make(key));\n"
                "                                 │   └ make  cache.cc:4  800 B\n"
                "        -        1       -    11 │         last = new Key(key); /* \\x1b[2J */\n"
                "                              12 │ }\n");
}

static void test_wide(void **state) {
        const struct request allocated = {.has_metric = true,
                                          .metric = QUERY_ALLOCATED,
                                          .min_share_pct = -1};
        struct source_options o = usual;

        (void)state;
        o.view.request = &allocated;
        expect_text(
                o, "Cache::insert", "120",
                "Cache::insert in cache.cc, with its callees, requested 1.0 KiB of the 9.8 KiB allocated (11 %); line 10 alone 1000 B.\n"
                "\n"
                "cache.cc:7-12\n"
                "  itself  + callees  share  allocs  at end  line   itself, + callees: allocated\n"
                "                                               7 │ void Cache::insert(int key) {\n"
                "                                               8 │         if (key < 0)\n"
                "                                               9 │                 return;\n"
                "   200 B     1000 B  9.9 %       4  1000 B    10 │         entries.push_back(make(key));\n"
                "                                                 │   └ make  cache.cc:4  800 B\n"
                "    64 B       64 B  0.6 %       1       -    11 │         last = new Key(key); /* \\x1b[2J */\n"
                "                                              12 │ }\n");
}

/* Lines with figures are told to their end, others are cut. */
static void test_narrow(void **state) {
        (void)state;
        write_source(cache_path, "#if 0\n\n\n\n\n#endif\n"
                                 "void Cache::insert(int key) {\n"
                                 "    if (key < 0 || key > 1000000 || !entries.empty())\n"
                                 "        return;\n"
                                 "    entries.push_back(make(key + entries.size() * 12345678));\n"
                                 "    last = new Key(key);\n"
                                 "}\n");
        expect_text(usual, "Cache::insert", "60",
                    "Cache::insert in cache.cc, with its callees, requested\n"
                    "1000 B of the 9.8 KiB live at the peak (10 %); line 10 alone\n"
                    "1000 B.\n"
                    "\n"
                    "cache.cc:7-12\n"
                    "  at peak   allocs  at end  line\n"
                    "                               7 │ void Cache::insert(int k…\n"
                    "                               8 │     if (key < 0 || key >…\n"
                    "                               9 │         return;\n"
                    "   1000 B>       4  1000 B    10 │     entries.push_back(\n"
                    "                                 │         make(key +\n"
                    "                                 │         entries.size() *…\n"
                    "                                 │   └ make  800 B\n"
                    "        -        1       -    11 │     last = new Key(key);\n"
                    "                              12 │ }\n");
        write_source(cache_path, cache_cc);
}

static void expect_has(struct source_options o, const char *what, const char *part) {
        struct err err = {0};
        char *text;

        assert_int_equal(print(o, what, "100", &text, &err), 0);
        if (!strstr(text, part)) {
                print_error("'%s' is not in:\n%s\n", part, text);
                fail();
        }
        free(text);
}

static void expect_refused(const char *what, const char *why) {
        struct err err = {0};
        char *text;

        assert_true(print(usual, what, "80", &text, &err) < 0);
        assert_string_equal(text, "");
        if (!strstr(err.text, why)) {
                print_error("'%s' is not in: %s\n", why, err.text);
                fail();
        }
        free(text);
}

static void test_names(void **state) {
        (void)state;
        /* instances of a template together, by any of their names */
        expect_has(usual, "Table::add",
                   "Table::add in table.h requested 7.8 KiB of the 9.8 KiB live");
        expect_has(usual, "add", "Table::add in table.h requested 7.8 KiB");
        expect_has(usual, "dd$|Table.*add", "requested 7.8 KiB");
        expect_has(usual, "Table<int>::add", "Table<int>::add in table.h requested 3.9 KiB");
        expect_has(usual, "make",
                   "make in cache.cc requested 800 B of the 9.8 KiB live at the peak (8 %)");
        expect_has(usual, "cache.cc", "cache.cc requested 1000 B of the 9.8 KiB");
        expect_has(usual, "cache.cc", "line 4 alone 800 B.");
        expect_has(usual, "./cache.cc:10", "cache.cc:10, with its callees, requested 1000 B");
        expect_has(usual, "bits/stl_vector.h", "stl_vector.h, with its callees, requested 200 B");
        /* closures belong to their function, and what the program is made of comes before libraries */
        expect_has(usual, "app::serve", "app::serve in app.rs requested 250 B");
        expect_has(usual, "serve", "app::serve in app.rs requested 250 B");
        expect_has(usual, "run_ticks", "app::run_ticks in app.rs requested 40 B");
        expect_has(usual, "push_back", "List::push_back in list.cc requested 50 B");
        expect_refused("insert", "matches 2 functions: choose one of Cache::insert, List::insert");
        expect_refused("nobody", "no call path contains such a function or file");
        expect_refused("ache.cc", "no call path contains such a function or file");
        expect_refused("other.cc:3", "no call path contains such a file");
        expect_refused("(a+)+$|(", "no call path contains such a function");
}

static void test_missing(void **state) {
        struct source_options o = usual;
        char here[256];

        (void)state;
        expect_has(usual, "List::insert", "/gone/list.cc was not found: name the directory");
        expect_has(usual, "List::insert", "660 B       1   660 B    99 │ List::insert\n");
        assert_non_null(getcwd(here, sizeof(here)));
        o.maps[o.n_maps++] = (struct source_map){"/gone/list.cc", 13, cache_path};
        expect_has(o, "List::insert", "Cannot find where the function begins and ends");
}

static void test_scope(void **state) {
        struct source_options o = usual;
        struct request asked;

        (void)state;
        asked = request_made("size=300..400");
        o.view.request = &asked;
        expect_has(o, "Cache::insert", "requested 700 B of the 700 B live");
        expect_has(o, "Cache::insert", "Only blocks with size 300..400.");
        request_done(&asked);
        request_ask(&asked, "by=temporary");
        expect_has(o, "Cache::insert",
                   "made 1 of the 1 temporary allocation (100 %); line 11 alone 1.");
        expect_has(
                o, "make",
                "make in cache.cc made no temporary allocations; 3 allocations went through it, 800 B.");
        request_ask(&asked, "by=growth");
        expect_has(o, "make", "make in cache.cc has +800 B of the +9.8 KiB of growth (8 %)");
}

static void test_json(void **state) {
        struct source_options o = usual;

        (void)state;
        o.view.json = true;
        expect_has(o, "Cache::insert", "\"schema\":\"silt.source/1\"");
        expect_has(o, "Cache::insert", "\"first_line\":7");
        expect_has(o, "Cache::insert", "last = new Key(key); /* \\u001b[2J */\"");
        expect_has(o, "Cache::insert", "\"why\":null,\"tried\":[]");
        expect_has(o, "Cache::insert", "\"parts\":[{\"first_line\":");
        expect_has(o, "List::insert", "\"state\":\"missing\"");
        expect_has(o, "List::insert", "\"tried\":[\"");
        expect_has(o, "List::insert", "\"parts\":[]");
}

/* Long functions: the head, lines with figures and some around; --full: all. */
static void test_long(void **state) {
        struct source_options o = usual;
        struct request asked;
        FILE *f = fopen(cache_path, "w");
        struct err err = {0};
        char *text;
        unsigned n = 0;

        (void)state;
        fputs("void Cache::insert(int key) {\n", f);
        for (unsigned i = 2; i <= 200; i++)
                fprintf(f, "        line%u();\n", i);
        fputs("}\n", f);
        fclose(f);
        o.n_context = 1;
        assert_int_equal(print(o, "Cache::insert", "80", &text, &err), 0);
        for (const char *p = text; (p = strstr(p, "();\n")); p++)
                n++;
        assert_int_equal(n, 7); /* 3 to 5 and 9 to 12 */
        assert_non_null(strstr(text, " ┊\n"));
        free(text);
        o.n_context = 2; /* what lies between is one line: it is shown */
        assert_int_equal(print(o, "Cache::insert", "80", &text, &err), 0);
        assert_non_null(strstr(text, "line7();"));
        assert_null(strstr(text, "line14();"));
        free(text);
        asked = request_made("size=100.."); /* nothing on line 11 */
        o.view.request = &asked;
        o.n_context = 0;
        assert_int_equal(print(o, "Cache::insert", "80", &text, &err), 0);
        assert_non_null(strstr(text, "line10();"));
        assert_null(strstr(text, "line11();"));
        free(text);
        request_done(&asked);
        o.is_full = true;
        assert_int_equal(print(o, "Cache::insert", "80", &text, &err), 0);
        assert_non_null(strstr(text, "line200();"));
        assert_null(strstr(text, " ┊\n"));
        free(text);
        write_source(cache_path, "short\n");
        expect_has(usual, "Cache::insert", "10 │ Cache::insert\n"); /* behind the end */
        write_source(cache_path, cache_cc);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_function), cmocka_unit_test(test_wide),
                cmocka_unit_test(test_narrow),   cmocka_unit_test(test_names),
                cmocka_unit_test(test_missing),  cmocka_unit_test(test_scope),
                cmocka_unit_test(test_json),     cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, write_trace, NULL);
}
