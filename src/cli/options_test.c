/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cli/options.h"

enum { TEST_OUTPUT = 1, TEST_FORCE, TEST_QUIET, TEST_TOP };

static const struct cli_option test_options[] = {
        {TEST_OUTPUT, 'o', "output", "FILE"}, {TEST_FORCE, 'f', "force", NULL},
        {TEST_QUIET, 'q', "quiet", NULL},     {TEST_TOP, 0, "top", "N"},
        {CLI_OPTION_HELP, 'h', "help", NULL},
};

static const struct cli_command mixed = {
        .name = "test",
        .help_text = "usage: silt test\n",
        .options = test_options,
        .n_options = ARRAY_SIZE(test_options),
        .usage_exit_status = 2,
};

static const struct cli_command wrapper = {
        .name = "test",
        .help_text = "usage: silt test\n",
        .options = test_options,
        .n_options = ARRAY_SIZE(test_options),
        .stops_at_operand = true,
        .usage_exit_status = 125,
};

/* Parses a NULL-ended line and writes what was found as text: "o=x f +operand | rest". */
static void parse(const struct cli_command *command, char **argv, char *out, size_t cap) {
        struct cli_parser p;
        int argc = 0, id;
        size_t n = 0;

        while (argv[argc])
                argc++;
        out[0] = 0;
        cli_parser_init(&p, command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP) {
                        snprintf(out + n, cap - n, "stop %d", p.exit_status);
                        return;
                }
                if (id == CLI_OPERAND)
                        n += (size_t)snprintf(out + n, cap - n, "+%s ", p.value);
                else if (p.value)
                        n += (size_t)snprintf(out + n, cap - n, "%s=%s ", p.name, p.value);
                else
                        n += (size_t)snprintf(out + n, cap - n, "%s ", p.name);
        }
        snprintf(out + n, cap - n, "| %d", argc - p.next_idx);
}

#define assert_parse(command, expected, ...)                                                       \
        do {                                                                                       \
                const char *line_[] = {"test", __VA_ARGS__, NULL};                                 \
                char text_[256];                                                                   \
                parse(command, (char **)line_, text_, sizeof(text_));                              \
                assert_string_equal(text_, expected);                                              \
        } while (0)

static void test_forms(void **state) {
        (void)state;
        assert_parse(&mixed, "output=x | 0", "-ox");
        assert_parse(&mixed, "output=x | 0", "-o", "x");
        assert_parse(&mixed, "output=x | 0", "--output", "x");
        assert_parse(&mixed, "output=x | 0", "--output=x");
        assert_parse(&mixed, "output= | 0", "--output=");
        assert_parse(&mixed, "quiet force output=x | 0", "-qfox");
        assert_parse(&mixed, "quiet force output=x | 0", "-qfo", "x");
        assert_parse(&mixed, "output=-q | 0", "-o", "-q");
}

static void test_operands_mix(void **state) {
        (void)state;
        assert_parse(&mixed, "+a force +b | 0", "a", "-f", "b");
        assert_parse(&mixed, "force +-f +-- | 0", "-f", "--", "-f", "--");
        assert_parse(&mixed, "+- | 0", "-");
}

static void test_wrapper_stops(void **state) {
        (void)state;
        assert_parse(&wrapper, "force | 3", "-f", "prog", "-q", "--help");
        assert_parse(&wrapper, "force | 2", "-f", "--", "-prog", "-q");
        assert_parse(&wrapper, "| 0", "--");
}

static void test_refused(void **state) {
        (void)state;
        assert_parse(&mixed, "stop 2", "--forc");
        assert_parse(&mixed, "stop 2", "--forced");
        assert_parse(&mixed, "stop 2", "--force=1");
        assert_parse(&mixed, "stop 2", "--output");
        assert_parse(&mixed, "stop 2", "-o");
        assert_parse(&mixed, "stop 2", "--=x");
        assert_parse(&mixed, "quiet stop 2", "-qx");
        assert_parse(&wrapper, "stop 125", "-x");
}

static void test_help_stops(void **state) {
        (void)state;
        assert_parse(&mixed, "force stop 0", "-f", "--help", "-x");
        assert_parse(&wrapper, "stop 0", "-h", "prog");
}

static void test_values(void **state) {
        struct cli_parser p = {.command = &mixed, .name = "top"};
        static const char *const refused[] = {"",   "x",   "1x",
                                              "-1", " 1",  "+1",
                                              "0",  "101", "99999999999999999999999"};
        uint64_t number = 7, ns = 0;

        (void)state;
        p.value = "100";
        assert_true(cli_value_number(&p, 1, 100, &number));
        assert_int_equal(number, 100);
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                p.value = refused[i];
                p.exit_status = 0;
                assert_false(cli_value_number(&p, 1, 100, &number));
                assert_int_equal(p.exit_status, 2);
        }
        assert_int_equal(number, 100);

        p.value = "250ms";
        assert_true(cli_value_duration(&p, &ns));
        assert_int_equal(ns, 250000000);
        p.value = "soon";
        assert_false(cli_value_duration(&p, &ns));
        assert_int_equal(ns, 250000000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forms),         cmocka_unit_test(test_operands_mix),
                cmocka_unit_test(test_wrapper_stops), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_help_stops),    cmocka_unit_test(test_values),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
