/* SPDX-License-Identifier: MIT */
/* What every view looks like whatever names and figures a trace has: no line is wider than asked for, nothing moves the
 * cursor, and the figures of trees add up. */
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
#include "query/testing/fabric.h"
#include "report/report.h"
#include "request/testing/request_made.h"
#include "show/chain.h"
#include "trace/writer.h"

#define TRACE_PATH "report_layout_test.silt"

enum { MAX_NAMES = 64 };

static uint64_t random_state = 1;

static uint64_t draw(uint64_t below) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

static char *report_of(const struct request *request, unsigned width, bool is_ascii) {
        const struct show_options o = {.path = TRACE_PATH, .request = request};
        struct err e = {0};
        char *text = NULL, columns[16];
        size_t n;
        FILE *out = open_memstream(&text, &n);

        snprintf(columns, sizeof(columns), "%u", width);
        setenv("COLUMNS", columns, 1);
        setenv("LC_ALL", is_ascii ? "C" : "C.UTF-8", 1);
        if (report_print(out, &o, &e) < 0) {
                print_error("%s\n", e.text);
                fail();
        }
        fclose(out);
        return text;
}

/* ---- hostile names --------------------------------------------------------------------------- */

static char names[MAX_NAMES][320];

/* Long words, many words, wide characters, controls, templates. */
static const char *hostile_name(unsigned i) {
        static const char *const pieces[] = {
                "a",       "::",   "Widget",    "<int, ",     ">",     "(",       ")",  "ü",
                "\033[2J", "\n",   "operator+", " const&",    "{",     "closure", "}",  "\x80",
                "漢字",    "…",    "std::",     "_ZN4shop3x", "+0x12", "->",      "::", "%s%n",
                "\t",      "main", "~",         "\\x1b",      "\"",    "'",       "$",  "llvm."};
        char *name = names[i % MAX_NAMES];
        size_t n = draw(4) ? 3 + draw(12) : 60 + draw(40);

        name[0] = '\0';
        for (size_t k = 0; k < n; k++)
                strncat(name, pieces[draw(ARRAY_SIZE(pieces))],
                        sizeof(names[0]) - strlen(name) - 1);
        return name;
}

static uint32_t hostile_stack(struct fabric *f) {
        static const char *const modules[] = {
                "/usr/lib/libvery-long-name-of-a-library-that-nobody-can-read.so.12.34.56",
                "/bin/x", "", "/opt/\033]0;title\a/lib.so"};
        uint32_t stack = 0;
        size_t depth = 1 + draw(draw(4) ? 8 : 60);

        for (size_t i = 0; i < depth; i++) {
                const char *name = draw(4) ? names[draw(MAX_NAMES)] : NULL;
                const char *file = draw(2) ? names[draw(MAX_NAMES)] : "";

                stack = fabric_frame(f, stack, modules[draw(ARRAY_SIZE(modules))], name,
                                     name ? file : "", (uint32_t)draw(3) * 12345);
        }
        return stack;
}

static void write_hostile(uint64_t seed) {
        struct fabric_options o = {.seed = seed, .max_processes = 20, .max_threads = 20};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t stacks[40], threads[14], processes[16];
        struct trace_mapping m = {.op = TRACE_MMAP, .size_bytes = 1 << 20};

        random_state = seed * 77777 + 1;
        for (unsigned i = 0; i < MAX_NAMES; i++)
                hostile_name(i);
        for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
                threads[i] = fabric_thread(f, 0, names[i]);
        for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++)
                stacks[i] = hostile_stack(f);
        processes[0] = 0;
        for (unsigned i = 0; i < 1000; i++) {
                uint64_t seq =
                        fabric_alloc(f, 0, threads[draw(ARRAY_SIZE(threads))],
                                     stacks[draw(ARRAY_SIZE(stacks))], 1 + draw(1 << draw(24)));

                fabric_wait(f, draw(3000));
                if (draw(3))
                        fabric_free(f, 0, threads[draw(ARRAY_SIZE(threads))], seq);
        }
        for (unsigned i = 1; i < ARRAY_SIZE(processes); i++) {
                processes[i] = fabric_fork(f, processes[draw(i)]);
                fabric_alloc(f, processes[i], fabric_thread(f, processes[i], names[i]), stacks[i],
                             1000000 * i);
                fabric_wait(f, 1000);
        }
        for (unsigned i = 0; i < 15; i++) {
                m.time_ns = fabric_now_ns(f);
                m.address = 0x100000000 + (uint64_t)i * (1 << 24);
                m.stack = stacks[i];
                trace_put_mapping(fabric_writer(f), &m);
        }
        trace_put_note(fabric_writer(f), fabric_now_ns(f), names[3]);
        fabric_end(f);
}

/* Those lines stay whole, so that they can be searched for. */
static bool is_of_memcheck(const char *line) {
        return strstr(line, "in use at ") || strstr(line, "total heap usage: ");
}

static void check_lines(const char *text, unsigned width, bool is_ascii, const char *what) {
        for (size_t n; *text; text += n + (text[n] == '\n')) {
                _cleanup_free_ char *line = NULL;

                n = strcspn(text, "\n");
                line = strndup(text, n);
                if (str_width(line) > width && !is_of_memcheck(line)) {
                        print_error("%s: %zu cells, %u allowed: %s\n", what, str_width(line), width,
                                    line);
                        fail();
                }
                if (n && line[n - 1] == ' ') {
                        print_error("%s at %u: blanks at the end of '%s'\n", what, width, line);
                        fail();
                }
                for (size_t i = 0; i < n; i++)
                        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) {
                                print_error("%s: a control character: %s\n", what, line);
                                fail();
                        }
                (void)is_ascii;
        }
}

static void check_views(unsigned width, bool is_ascii) {
        static const char *const groups[] = {"site",      "function", "module", "line",   "crate",
                                             "component", "thread",   "size",   "process"};
        static const char *const metrics[] = {"peak",  "end",       "allocated",
                                              "count", "temporary", "growth"};
        struct str base = {0};

        str_addf(&base, "process=%s&by=%s&from=%s&", draw(2) ? "all" : "main",
                 metrics[draw(ARRAY_SIZE(metrics))], draw(3) ? "0" : "1s");
        for (unsigned i = 0; i < 8; i++) {
                static const char *const what[] = {"summary", "top",       "tree",     "bottom-up",
                                                   "group",   "histogram", "lifetime", "blocks"};
                static const char *const asked[] = {"",
                                                    "top=1000",
                                                    "tree",
                                                    "bottom-up",
                                                    "group-by=",
                                                    "histogram=size",
                                                    "histogram=lifetime",
                                                    "blocks"};
                _cleanup_free_ char *text = NULL;
                struct request request;
                struct str url = {0};

                str_addf(&url, "%s%s%s", str_text(&base), asked[i],
                         i == 4 ? groups[draw(ARRAY_SIZE(groups))] : "");
                request = request_made(str_text(&url));
                text = report_of(&request, width, is_ascii);
                request_done(&request);
                str_done(&url);
                check_lines(text, width, is_ascii, what[i]);
        }
        str_done(&base);
}

static void test_hostile_names(void **state) {
        static const unsigned widths[] = {60,  61,  64,  70,  72,  76,  79,  80,  89,  90,
                                          100, 104, 110, 119, 120, 133, 160, 200, 239, 240};

        (void)state;
        for (uint64_t seed = 1; seed <= 2; seed++) {
                write_hostile(seed);
                for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
                        check_views(widths[i], draw(2));
        }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* One line of a tree of call paths: bytes are small, so that they are printed in full. */
struct row {
        long bytes;
        size_t depth;
};

/* False: no such line. Branches, two cells each, begin at the column. */
static bool read_row(const char *line, size_t column, struct row *ret) {
        int n = 0;

        if (strlen(line) <= column || sscanf(line, "%ld B%n", &ret->bytes, &n) != 1 || !n)
                return false;
        for (ret->depth = 0; strchr("|+` ", line[column]) && line[column + 1] == ' '; column += 2)
                ret->depth++;
        return true;
}

static size_t read_rows(char *text, struct row *rows, size_t cap) {
        char *save = NULL, *at = strstr(text, "by call path (");
        size_t n = 0, column = 0;

        assert_non_null(at);
        for (char *line = strtok_r(at, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                if (strstr(line, "Sizes of"))
                        break;
                if (strstr(line, "  call path"))
                        column = (size_t)(strstr(line, "call path") - line);
                if (n < cap && column && read_row(line, column, &rows[n]))
                        n++;
        }
        return n;
}

/* What stands one level below row i, and how much it may lack: small rests are not told. */
static long sum_below(const struct row *rows, size_t n, size_t i) {
        long sum = 0;

        for (size_t k = i + 1; k < n && rows[k].depth > rows[i].depth; k++)
                if (rows[k].depth == rows[i].depth + 1)
                        sum += rows[k].bytes;
        return sum;
}

/* Paths over few functions, so that they have much in common. */
static uint32_t random_stack(struct fabric *f) {
        static const char *const functions[] = {"ash", "elm", "fir", "oak", "yew"};
        uint32_t stack = 0;
        size_t depth = 1 + draw(9);

        for (size_t i = 0; i < depth; i++) {
                size_t k = draw(1 + draw(ARRAY_SIZE(functions)));

                stack = fabric_frame(f, stack, "/bin/app", draw(9) ? functions[k] : NULL, "wood.c",
                                     10 + (uint32_t)draw(2));
        }
        return stack;
}

static long write_wood(uint64_t seed) {
        struct fabric_options o = {.seed = seed, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t thread = fabric_thread(f, 0, "main");
        size_t n = 1 + draw(60);
        long bytes = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t size = 1 + draw(draw(5) ? 4 : 60);

                fabric_alloc(f, 0, thread, draw(12) ? random_stack(f) : 0, size);
                bytes += (long)size;
                if (bytes > 900)
                        break;
        }
        fabric_end(f);
        return bytes;
}

static void check_sums(long whole, uint32_t n_top) {
        struct request request = REQUEST_DEFAULT;
        struct row rows[1000];
        _cleanup_free_ char *text = NULL, *copy = NULL;
        size_t n;
        long top = 0, most_lacking = whole / 200 + 1;

        request.n_top = n_top;
        request.has_top = draw(2);
        request.has_metric = true;
        request.metric = draw(2) ? QUERY_PEAK : QUERY_END;
        text = report_of(&request, 60 + (unsigned)draw(180), true);
        copy = strdup(text);
        n = read_rows(text, rows, ARRAY_SIZE(rows));
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++) {
                long below = sum_below(rows, n, i);

                if (rows[i].depth == 0)
                        top += rows[i].bytes;
                if (i + 1 < n && rows[i + 1].depth > rows[i].depth &&
                    (below > rows[i].bytes || rows[i].bytes - below > most_lacking)) {
                        print_error("%ld below %ld\n", below, rows[i].bytes);
                        fputs(copy, stderr);
                        fail();
                }
        }
        if (top != whole) {
                print_error("%ld of %ld are told:\n%s\n", top, whole, copy);
                fail();
        }
}

static void test_sums(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 200; seed++) {
                random_state = seed * 99991;
                check_sums(write_wood(seed), 1 + (uint32_t)draw(30));
        }
}

/* ---- calls in a row -------------------------------------------------------------------------- */

static void check_chain(const char *const *calls, size_t n, size_t width, const char *place,
                        const char *note, const char *expected) {
        struct style s = {.utf8 = true, .bold = "", .dim = "", .plain = "", .live = ""};
        struct chain c = {.s = &s, .width = width, .max_lines = 2, .place_must = true};
        struct str all = {0};

        for (size_t i = 0; i < n; i++)
                str_add(chain_next(&c), calls[i]);
        str_add(&c.place, place);
        str_add(&c.note, note);
        chain_lay_out(&c);
        for (size_t i = 0; i < c.lines.n; i++)
                str_addf(&all, "%s%s", i ? "\n" : "", str_text(&c.lines.items[i]));
        assert_string_equal(str_text(&all), expected);
        str_done(&all);
        chain_done(&c);
}

static void test_chain(void **state) {
        static const char *const calls[] = {"main", "run", "walk", "walk", "walk", "read_it"};
        static const char *const deep[] = {"main",  "first", "second", "third", "fourth",
                                           "fifth", "sixth", "eighth", "last"};

        (void)state;
        check_chain(calls, 1, 40, "a.c:1", "", "main  a.c:1");
        check_chain(calls, 6, 60, "a.c:1", "via getline",
                    "main → run → walk ×3 → read_it  a.c:1  via getline");
        check_chain(calls, 6, 40, "a.c:1", "via getline", "main → run → walk ×3 → read_it  a.c:1");
        check_chain(calls, 6, 30, "a.c:1", "", "main → run → walk ×3 →\n  read_it  a.c:1");
        check_chain(deep, 9, 30, "a.c:1", "",
                    "main → … 4 more → fifth →\n  sixth → eighth → last  a.c:1");
        check_chain(deep + 8, 1, 8, "a.c:1", "", "last\n    a.…1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_chain),
                cmocka_unit_test(test_sums),
                cmocka_unit_test(test_hostile_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
