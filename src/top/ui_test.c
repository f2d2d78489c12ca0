/* SPDX-License-Identifier: MIT */
/* Keys without a terminal and without a recording: nothing is there to be chosen, and nothing may go wrong. */
#include "top/ui.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_a_filter_is_typed(void **state) {
        static const struct model m;
        struct ui u;

        (void)state;
        ui_init(&u, true);
        assert_int_equal(ui_press(&u, &m, '/'), UI_DRAW);
        assert_true(u.is_typing);
        for (const char *p = "q\u00e9x"; *p; p++)
                assert_int_equal(ui_press(&u, &m, (unsigned char)*p), UI_DRAW);
        assert_int_equal(ui_press(&u, &m, UI_KEY_BACK), UI_DRAW);
        assert_string_equal(str_text(&u.typed), "q\u00e9");
        ui_press(&u, &m, UI_KEY_BACK); /* a character, not a byte */
        assert_string_equal(str_text(&u.typed), "q");
        assert_int_equal(ui_press(&u, &m, UI_KEY_ENTER), UI_ASK);
        assert_string_equal(str_text(&u.filter), "q");
        ui_press(&u, &m, '/');
        ui_press(&u, &m, 'z');
        assert_int_equal(ui_press(&u, &m, UI_KEY_ESCAPE), UI_DRAW); /* the one before stays */
        assert_string_equal(str_text(&u.filter), "q");
        assert_int_equal(ui_press(&u, &m, UI_KEY_ESCAPE), UI_ASK);
        assert_string_equal(str_text(&u.filter), "");
        for (int i = 0; i < 1000; i++)
                ui_press(&u, &m, i ? 'a' : '/');
        assert_true(u.typed.n < 100);
        ui_done(&u);
}

static void test_keys_say_what_is_to_be_done(void **state) {
        static const struct model m;
        struct ui u;

        (void)state;
        ui_init(&u, true);
        assert_int_equal(ui_by(&u), QUERY_BY_FUNCTION);
        assert_int_equal(ui_press(&u, &m, UI_KEY_TAB), UI_ASK);
        assert_int_equal(ui_by(&u), QUERY_BY_SITE);
        assert_int_equal(ui_press(&u, &m, 'g'), UI_ASK);
        assert_int_equal(u.sort, MODEL_BY_GROWTH);
        assert_int_equal(ui_press(&u, &m, 'w'), UI_LOOK_AT);
        assert_int_equal(ui_press(&u, &m, 'f'), UI_FREEZE);
        assert_true(u.is_frozen);
        assert_int_equal(ui_press(&u, &m, ' '), UI_FREEZE);
        assert_false(u.is_frozen);
        assert_int_equal(ui_press(&u, &m, '?'), UI_DRAW);
        assert_int_equal(u.view, UI_HELP);
        ui_press(&u, &m, UI_KEY_ESCAPE);
        assert_int_equal(u.view, UI_GROUPS);
        assert_int_equal(ui_press(&u, &m, UI_KEY_ESCAPE), UI_NOTHING);
        assert_int_equal(ui_press(&u, &m, 'r'), UI_DRAW); /* stops the program: only among tasks, */
        assert_non_null(strstr(str_text(&u.message), "press a first")); /* as it says elsewhere */
        assert_int_equal(ui_press(&u, &m, 'a'), UI_DRAW);
        assert_int_equal(u.view, UI_TASKS);
        assert_int_equal(ui_press(&u, &m, 'r'), UI_GRAPH);
        assert_int_equal(ui_press(&u, &m, 'a'), UI_DRAW);
        assert_int_equal(u.view, UI_GROUPS);
        assert_int_equal(ui_press(&u, &m, 'q'), UI_QUIT);
        ui_done(&u);
}

static void test_nothing_there(void **state) {
        static const struct model m;
        struct ui u;

        (void)state;
        ui_init(&u, true);
        for (int view = 0; view < UI_N_VIEWS; view++)
                for (int key = 1; key <= UI_KEY_ROW + 3; key = key == 0x7f ? UI_KEY_UP : key + 1) {
                        u.view = (enum ui_view)view;
                        u.is_typing = false;
                        ui_press(&u, &m, key);
                        assert_int_equal(u.chosen[UI_GROUPS], 0);
                }
        ui_done(&u);
}

static void test_lines_of_source(void **state) {
        static const struct model m;
        struct ui u;

        (void)state;
        ui_init(&u, true);
        ui_set_source(&u, "a\n\nb\nc\nd");
        assert_int_equal(u.source.n, 5);
        u.view = UI_SOURCE;
        u.n_shown = 2;
        ui_press(&u, &m, UI_KEY_END);
        assert_int_equal(u.first[UI_SOURCE], 3);
        ui_press(&u, &m, UI_KEY_UP);
        assert_int_equal(u.first[UI_SOURCE], 2);
        ui_stay_inside(&u, &m);
        assert_int_equal(u.first[UI_SOURCE], 2);
        ui_press(&u, &m, UI_KEY_HOME);
        assert_int_equal(u.first[UI_SOURCE], 0);
        ui_done(&u);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_filter_is_typed),
                cmocka_unit_test(test_keys_say_what_is_to_be_done),
                cmocka_unit_test(test_nothing_there),
                cmocka_unit_test(test_lines_of_source),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
