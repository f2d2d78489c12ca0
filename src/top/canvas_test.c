/* SPDX-License-Identifier: MIT */
#include "top/canvas.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "top/bars.h"

static const char *line(const struct canvas *c, size_t row, struct str *to) {
        str_clear(to);
        canvas_add_line(c, row, to);
        return str_text(to);
}

static void test_text_is_clipped(void **state) {
        struct canvas c = {0};
        struct str s = {0};

        (void)state;
        canvas_begin(&c, 10, 3, true);
        assert_int_equal(canvas_put(&c, 0, 4, INK_BOLD, "abcdefghij"), 10);
        assert_string_equal(line(&c, 0, &s), "    abcdef");
        assert_int_equal(canvas_cell(&c, 0, 4)->ink, INK_BOLD);
        assert_int_equal(canvas_cell(&c, 0, 3)->ink, INK_PLAIN);
        assert_int_equal(canvas_put_within(&c, 1, 0, 3, INK_PLAIN, "abcdef"), 3);
        assert_string_equal(line(&c, 1, &s), "abc");
        canvas_put_right(&c, 2, 8, INK_PLAIN, "xyz");
        canvas_put_right(&c, 2, 2, INK_PLAIN, "too wide");
        assert_string_equal(line(&c, 2, &s), "     xyz");
        canvas_put(&c, 7, 0, INK_PLAIN, "below"); /* nothing happens */
        canvas_put(&c, 0, 99, INK_PLAIN, "beside");
        assert_string_equal(line(&c, 0, &s), "    abcdef");
        str_done(&s);
        canvas_done(&c);
}

static void test_hostile_text_is_harmless(void **state) {
        struct canvas c = {0};
        struct str s = {0};

        (void)state;
        canvas_begin(&c, 60, 1, true);
        canvas_put(&c, 0, 0, INK_PLAIN, "a\x1b[2Jb\n\xff\u202e\u00e9");
        assert_string_equal(line(&c, 0, &s), "a\\x1b[2Jb\\x0a\\xff\\u{202e}\u00e9");
        canvas_begin(&c, 60, 1, false);
        canvas_put(&c, 0, 0, INK_PLAIN, "\u00e9t\u00e9 \u4e16");
        assert_string_equal(line(&c, 0, &s), "?t? ?");
        str_done(&s);
        canvas_done(&c);
}

static void test_wide_and_narrow_characters(void **state) {
        struct canvas c = {0};
        struct str s = {0};

        (void)state;
        canvas_begin(&c, 4, 2, true);
        assert_int_equal(canvas_put(&c, 0, 0, INK_PLAIN, "\u4e16\u754c\u4e16"), 4);
        assert_string_equal(line(&c, 0, &s), "\u4e16\u754c");
        assert_string_equal(canvas_cell(&c, 0, 1)->text, "");
        assert_int_equal(canvas_put(&c, 1, 0, INK_PLAIN, "abc\u4e16"), 4);
        assert_string_equal(line(&c, 1, &s), "abc"); /* half a character is none */
        canvas_begin(&c, 4, 2, true);
        canvas_put(&c, 0, 0, INK_PLAIN, "e\u0301x");
        assert_string_equal(line(&c, 0, &s), "e\u0301x");
        assert_string_equal(canvas_cell(&c, 0, 1)->text, "x");
        canvas_put(&c, 1, 0, INK_PLAIN, "\u0301\u0301"); /* upon nothing */
        assert_string_equal(line(&c, 1, &s), "");
        str_done(&s);
        canvas_done(&c);
}

static void test_lines_break_between_words(void **state) {
        struct canvas c = {0};
        struct str s = {0};

        (void)state;
        canvas_begin(&c, 11, 4, true);
        assert_int_equal(canvas_put_wrapped(&c, 0, 4, INK_PLAIN, "one two three abcdefghijklmnop"),
                         4);
        assert_string_equal(line(&c, 0, &s), "one two");
        assert_string_equal(line(&c, 1, &s), "three");
        assert_string_equal(line(&c, 2, &s), "abcdefghijk");
        assert_string_equal(line(&c, 3, &s), "lmnop");
        canvas_begin(&c, 11, 4, true);
        assert_int_equal(canvas_put_wrapped(&c, 0, 1, INK_PLAIN, "one two three"), 1);
        assert_string_equal(line(&c, 0, &s), "one two th\u2026");
        assert_string_equal(line(&c, 1, &s), "");
        assert_int_equal(canvas_put_wrapped(&c, 1, 1, INK_PLAIN, "one two six"), 1);
        assert_string_equal(line(&c, 1, &s), "one two six");
        canvas_begin(&c, 11, 1, false);
        canvas_put_wrapped(&c, 0, 1, INK_PLAIN, "one two three");
        assert_string_equal(line(&c, 0, &s), "one two ...");
        assert_int_equal(canvas_put_wrapped(&c, 0, 3, INK_PLAIN, ""), 0);
        str_done(&s);
        canvas_done(&c);
}

static void test_clicks(void **state) {
        struct canvas c = {0};

        (void)state;
        canvas_begin(&c, 10, 2, true);
        canvas_add_spot(&c, 1, 2, 5, 'q');
        assert_int_equal(canvas_key_at(&c, 1, 2), 'q');
        assert_int_equal(canvas_key_at(&c, 1, 5), 0);
        assert_int_equal(canvas_key_at(&c, 0, 2), 0);
        canvas_begin(&c, 10, 2, true);
        assert_int_equal(canvas_key_at(&c, 1, 2), 0);
        canvas_done(&c);
}

static void test_bars(void **state) {
        const uint64_t values[] = {0, 1, 50, 100, 200, UINT64_MAX};
        struct bars b = {.height = 2, .width = 6, .values = values, .n = 6, .most = 100};
        struct canvas c = {0};
        struct str s = {0};

        (void)state;
        canvas_begin(&c, 8, 2, true);
        bars_draw(&c, &b);
        assert_string_equal(line(&c, 0, &s), "   \u2588\u2588\u2588");
        assert_string_equal(line(&c, 1, &s), " \u2581\u2588\u2588\u2588\u2588");
        canvas_begin(&c, 8, 2, false);
        b.n = 3;
        bars_draw(&c, &b);
        assert_string_equal(line(&c, 0, &s), "");
        assert_string_equal(line(&c, 1, &s), " .#");
        b.most = 0; /* nothing is known of how high */
        bars_draw(&c, &b);
        str_done(&s);
        canvas_done(&c);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text_is_clipped),
                cmocka_unit_test(test_hostile_text_is_harmless),
                cmocka_unit_test(test_wide_and_narrow_characters),
                cmocka_unit_test(test_lines_break_between_words),
                cmocka_unit_test(test_clicks),
                cmocka_unit_test(test_bars),
        };

        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
