/* SPDX-License-Identifier: MIT */
/* silt cpu: reads the command line and leaves taking samples to record/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "cli/commands.h"
#include "cli/help_cpu.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "record/supervisor.h"
#include "symbol/symbol.h"

enum { CPU_MAX_PID = 1 << 22 };

static const struct cli_command cpu_run_command = {
        .name = "cpu",
        .help_text = cpu_help_text,
        .options = cpu_option_table,
        .n_options = ARRAY_SIZE(cpu_option_table),
        .stops_at_operand = true,
        .usage_exit_status = EXIT_STATUS_RUN_FAILED,
};

static const struct cli_command cpu_attach_command = {
        .name = "cpu",
        .help_text = cpu_help_text,
        .options = cpu_option_table,
        .n_options = ARRAY_SIZE(cpu_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_pid(struct run_options *o, struct cli_parser *p) {
        unsigned long long pid;
        char *end;

        if (o->attached) {
                cli_parser_error(p, "more than one process given: write 'silt cpu attach PID'");
                return false;
        }
        errno = 0;
        pid = strtoull(p->value, &end, 10);
        if (p->value[0] < '0' || p->value[0] > '9' || *end || errno || pid < 1 ||
            pid > CPU_MAX_PID) {
                cli_parser_error(p, "'%s' is not a pid: see 'ps' or 'pidof'", p->value);
                return false;
        }
        o->attached = (pid_t)pid;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct run_options *o, enum cpu_option option, struct cli_parser *p) {
        switch (option) {
        case CPU_OUTPUT: o->output_path = p->value; break;
        case CPU_FORCE: o->overwrite = true; break;
        case CPU_RATE: return cli_take_cpu_rate(p, o);
        case CPU_NO_OFF_CPU: o->off_cpu = false; break;
        case CPU_NO_CHILDREN: o->no_children = true; break;
        case CPU_DURATION: return cli_take_duration(p, o);
        case CPU_MAX_SIZE: return cli_take_max_size(p, o);
        case CPU_WAIT: o->wait_for_descendants = true; break;
        case CPU_NO_SYMBOLS: o->no_symbols = true; break;
        case CPU_QUIET: o->quiet = true; break;
        case CPU_VERBOSE: o->verbose = true; break;
        case CPU_OPTION_NONE: break;
        }
        return true;
}

static bool take_words(struct run_options *o, struct cli_parser *p) {
        bool is_fine;
        int id;

        while ((id = cli_parser_next(p)) != CLI_END) {
                is_fine = id != CLI_STOP &&
                          (id == CLI_OPERAND ? take_pid(o, p)
                                             : take_option(o, (enum cpu_option)id, p));
                if (!is_fine)
                        return false;
        }
        return true;
}

static int cpu_run(struct run_options *o, int argc, char **argv) {
        struct cli_parser p;

        cli_parser_init(&p, &cpu_run_command, argc, argv);
        if (!take_words(o, &p))
                return p.exit_status;
        if (p.next_idx >= argc)
                return cli_parser_error(&p, "no program given: write 'silt cpu run PROG'");
        o->argv = argv + p.next_idx;
        return supervisor_run(o);
}

static int cpu_attach(struct run_options *o, int argc, char **argv) {
        struct cli_parser p;

        cli_parser_init(&p, &cpu_attach_command, argc, argv);
        if (!take_words(o, &p))
                return p.exit_status;
        if (!o->attached)
                return cli_parser_error(&p, "no process given: write 'silt cpu attach PID'");
        if (o->wait_for_descendants)
                return cli_parser_error(&p, "--wait: has no effect with attach: leave it out");
        return supervisor_cpu_attach(o);
}

int cmd_cpu(int argc, char **argv) {
        struct run_options o = {.cpu_only = true,
                                .off_cpu = true,
                                .silt_version = SILT_VERSION,
                                .symbolize = symbol_append};
        struct cli_parser p;

        cli_take_cpu(&o);
        if (argc > 1 && strcmp(argv[1], "run") == 0)
                return cpu_run(&o, argc - 1, argv + 1);
        if (argc > 1 && strcmp(argv[1], "attach") == 0)
                return cpu_attach(&o, argc - 1, argv + 1);
        cli_parser_init(&p, &cpu_attach_command, argc, argv);
        if (argc > 1 && argv[1][0] == '-' && cli_parser_next(&p) == CLI_STOP)
                return p.exit_status;
        return cli_parser_error(
                &p, "say what to do first: write 'silt cpu run PROG' or 'silt cpu attach PID'");
}
