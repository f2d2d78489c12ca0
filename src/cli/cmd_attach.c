/* SPDX-License-Identifier: MIT */
/* silt attach: reads the command line and leaves entering and recording to record/. */
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_attach.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/view_child.h"
#include "record/supervisor.h"
#include "symbol/symbol.h"

static const struct cli_command attach_command = {
        .name = "attach",
        .help_text = attach_help_text,
        .options = attach_option_table,
        .n_options = ARRAY_SIZE(attach_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

enum { ATTACH_MAX_PID = 1 << 22 };

static bool take_pid(struct run_options *o, struct cli_parser *p) {
        unsigned long long pid;
        char *end;

        if (o->attached) {
                cli_parser_error(p, "more than one process given: write 'silt attach PID'");
                return false;
        }
        errno = 0;
        pid = strtoull(p->value, &end, 10);
        if (p->value[0] < '0' || p->value[0] > '9' || *end || errno || pid < 1 ||
            pid > ATTACH_MAX_PID) {
                cli_parser_error(p, "'%s' is not a pid: see 'ps' or 'pidof'", p->value);
                return false;
        }
        o->attached = (pid_t)pid;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct run_options *o, enum attach_option option, struct cli_parser *p) {
        switch (option) {
        case ATTACH_OUTPUT: o->output_path = p->value; break;
        case ATTACH_FORCE: o->overwrite = true; break;
        case ATTACH_DURATION: return cli_take_duration(p, o);
        case ATTACH_MAX_SIZE: return cli_take_max_size(p, o);
        case ATTACH_SNAPSHOT_EVERY: return cli_take_snapshot_every(p, o);
        case ATTACH_GRAPH_SIGNAL: return cli_take_graph_signal(p, o);
        case ATTACH_GRAPH_EVERY: return cli_take_graph_every(p, o);
        case ATTACH_SNAPSHOT_GROWTH: return cli_take_snapshot_growth(p, o);
        case ATTACH_SAMPLE: return cli_take_sample(p, o);
        case ATTACH_BUDGET: return cli_take_budget(p, o);
        case ATTACH_QUIET: o->quiet = true; break;
        case ATTACH_LOG: o->log_path = p->value; break;
        case ATTACH_VERBOSE: o->verbose = true; break;
        case ATTACH_FREE_STACKS: o->free_stacks = true; break;
        case ATTACH_ADDRESSES: o->addresses = true; break;
        case ATTACH_NO_SYMBOLS: o->no_symbols = true; break;
        case ATTACH_LOSSY: o->lossy = true; break;
        case ATTACH_RUNTIME: o->runtime_path = p->value; break;
        case ATTACH_VIEW: o->on_recording = view_child_start; break;
        case ATTACH_OPTION_NONE: break;
        }
        return true;
}

bool attach_options_parse(int argc, char **argv, struct run_options *ret_options,
                          int *ret_exit_status) {
        struct run_options o = {0};
        struct cli_parser p;
        bool is_fine;
        int id;

        cli_parser_init(&p, &attach_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                is_fine = id != CLI_STOP &&
                          (id == CLI_OPERAND ? take_pid(&o, &p)
                                             : take_option(&o, (enum attach_option)id, &p));
                if (!is_fine) {
                        *ret_exit_status = p.exit_status;
                        return false;
                }
        }
        if (!o.attached) {
                *ret_exit_status =
                        cli_parser_error(&p, "no process given: write 'silt attach PID'");
                return false;
        }
        if (!cli_check_sample(&p, &o)) {
                *ret_exit_status = p.exit_status;
                return false;
        }
        *ret_options = o;
        return true;
}

int cmd_attach(int argc, char **argv) {
        struct view_child view = {0};
        struct run_options options;
        int exit_status;

        if (!attach_options_parse(argc, argv, &options, &exit_status))
                return exit_status;
        options.silt_version = SILT_VERSION;
        options.symbolize = options.no_symbols ? NULL : symbol_append;
        options.on_recording_ctx = &view;
        exit_status = supervisor_attach(&options);
        view_child_wait(&view);
        return exit_status;
}
