/* SPDX-License-Identifier: MIT */
/* silt run: reads the command line and leaves launching and recording to record/. */
#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_run.h"
#include "cli/recording.h"
#include "record/supervisor.h"

static const struct cli_command run_command = {
        .name = "run",
        .help_text = run_help_text,
        .options = run_option_table,
        .n_options = ARRAY_SIZE(run_option_table),
        .stops_at_operand = true,
        .usage_exit_status = EXIT_STATUS_RUN_FAILED,
};

bool run_options_parse(int argc, char **argv, struct run_options *ret_options,
                       int *ret_exit_status) {
        struct run_options o = {0};
        struct cli_parser p;
        int id;

        cli_parser_init(&p, &run_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END)
                if (id == CLI_STOP || !cli_take_run_option(&p, &o, id)) {
                        *ret_exit_status = p.exit_status;
                        return false;
                }
        if (p.next_idx >= argc) {
                *ret_exit_status = cli_parser_error(&p, "no program given: write 'silt run PROG'");
                return false;
        }
        if (!cli_check_run(&p, &o)) {
                *ret_exit_status = p.exit_status;
                return false;
        }
        o.argv = argv + p.next_idx;
        *ret_options = o;
        return true;
}

int cmd_run(int argc, char **argv) {
        struct run_options options;
        int exit_status;

        if (!run_options_parse(argc, argv, &options, &exit_status))
                return exit_status;
        return cli_record_program(&options);
}
