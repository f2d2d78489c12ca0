/* SPDX-License-Identifier: MIT */
#include "fleet/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void statements_are_told_apart(void **state) {
        const char *at = "-- why; so\nCREATE a (\n  b\n);\n\nCREATE c;\n";
        struct str s = {0};

        assert_true(fleet_next_statement(&at, &s));
        assert_string_equal(str_text(&s), "CREATE a (\n  b\n)");
        assert_true(fleet_next_statement(&at, &s));
        assert_string_equal(str_text(&s), "CREATE c");
        assert_false(fleet_next_statement(&at, &s));
        str_done(&s);
}

/* Two senders may run them at the same time, and one may die in the middle. */
static void every_statement_may_run_twice(void **state) {
        struct str s = {0};

        for (uint32_t v = 1; v <= FLEET_SCHEMA_VERSION; v++) {
                struct fleet_migration m = fleet_migration_to(v);
                size_t n = 0;

                assert_int_equal(m.version, v);
                assert_in_range(m.min_writer, 1, v);
                for (const char *at = m.sql; fleet_next_statement(&at, &s); n++)
                        assert_non_null(strstr(str_text(&s), "IF NOT EXISTS"));
                assert_true(n > 0);
        }
        str_done(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(statements_are_told_apart),
                cmocka_unit_test(every_statement_may_run_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
