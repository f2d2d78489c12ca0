/* SPDX-License-Identifier: MIT */
/* silt run: reads the command line and leaves launching and recording to record/. */
#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_run.h"
#include "record/front.h"
#include "symbol/symbol.h"

static const struct cli_command run_command = {
        .name = "run",
        .help_text = run_help_text,
        .options = run_option_table,
        .n_options = ARRAY_SIZE(run_option_table),
        .stops_at_operand = true,
        .usage_exit_status = EXIT_STATUS_RUN_FAILED,
};

/* False after an error was printed. */
static bool take_option(struct run_options *o, enum run_option option, struct cli_parser *p) {
        switch (option) {
        case RUN_OUTPUT: o->output_path = p->value; break;
        case RUN_FORCE: o->overwrite = true; break;
        case RUN_DURATION: return cli_value_duration(p, &o->duration_ns);
        case RUN_QUIET: o->quiet = true; break;
        case RUN_LOG: o->log_path = p->value; break;
        case RUN_VERBOSE: o->verbose = true; break;
        case RUN_WAIT: o->wait_for_descendants = true; break;
        case RUN_FREE_STACKS: o->free_stacks = true; break;
        case RUN_ADDRESSES: o->addresses = true; break;
        case RUN_NO_SYMBOLS: o->no_symbols = true; break;
        case RUN_LOSSY: o->lossy = true; break;
        case RUN_LAUNCHER: o->launcher = p->value; break;
        case RUN_RUNTIME: o->runtime_path = p->value; break;
        case RUN_OPTION_NONE: break;
        }
        return true;
}

bool run_options_parse(int argc, char **argv, struct run_options *ret_options,
                       int *ret_exit_status) {
        struct run_options o = {0};
        struct cli_parser p;
        int id;

        cli_parser_init(&p, &run_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END)
                if (id == CLI_STOP || !take_option(&o, (enum run_option)id, &p)) {
                        *ret_exit_status = p.exit_status;
                        return false;
                }
        if (p.next_idx >= argc) {
                *ret_exit_status = cli_parser_error(&p, "no program given: write 'silt run PROG'");
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
        options.silt_version = SILT_VERSION;
        options.symbolize = options.no_symbols ? NULL : symbol_append;
        return front_run(&options);
}
