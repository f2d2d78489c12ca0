/* SPDX-License-Identifier: MIT */
/* silt run: reads the command line and leaves launching and recording to record/. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_run.h"
#include "cli/own_machine.h"
#include "cli/recording.h"
#include "cli/view_child.h"
#include "patch/given.h"
#include "patch/survey.h"
#include "record/program_check.h"
#include "record/supervisor.h"
#include "symbol/symbol.h"

static const struct cli_command run_command = {
        .name = "run",
        .help_text = run_help_text,
        .options = run_option_table,
        .n_options = ARRAY_SIZE(run_option_table),
        .stops_at_operand = true,
        .usage_exit_status = EXIT_STATUS_RUN_FAILED,
};

static bool take_start_after(struct run_options *o, struct cli_parser *p) {
        if (!cli_value_duration(p, &o->start_after_ns))
                return false;
        if (o->start_after_ns == 0)
                cli_parser_error(p, "--start-after: '%s' is no delay: leave out --dormant",
                                 p->value);
        return o->start_after_ns != 0;
}

static bool take_start_above(struct run_options *o, struct cli_parser *p) {
        if (!cli_value_bytes(p, &o->start_above_bytes))
                return false;
        if (o->start_above_bytes == 0)
                cli_parser_error(p, "--start-above: '%s' is always exceeded: leave out --dormant",
                                 p->value);
        return o->start_above_bytes != 0;
}

/* A dormant program is entered by patching its entries, and has nothing of silt in it before. */
static bool check_dormant(const struct run_options *o, struct cli_parser *p) {
        const char *wrong = o->launcher               ? "--launcher"
                            : o->no_patch             ? "--no-patch"
                            : o->wait_for_descendants ? "--wait"
                                                      : NULL;

        if (!o->dormant && (o->start_after_ns || o->start_above_bytes)) {
                cli_parser_error(p, "%s: has no effect without --dormant: add --dormant",
                                 o->start_after_ns ? "--start-after" : "--start-above");
                return false;
        }
        if (o->dormant && wrong)
                cli_parser_error(p, "%s: cannot be combined with --dormant: leave one out", wrong);
        return !o->dormant || !wrong;
}

static bool take_launcher(struct run_options *o, struct cli_parser *p) {
        bool is_blank = p->value[strspn(p->value, " \t")] == '\0';

        if (is_blank)
                cli_parser_error(p, "--launcher: empty command: name an emulator, or leave it out");
        o->launcher = p->value;
        return !is_blank;
}

static bool take_hook(struct run_options *o, struct cli_parser *p) {
        if (o->n_hooks == RUN_MAX_HOOKS) {
                cli_parser_error(p, "--hook: given more than %d times", RUN_MAX_HOOKS);
                return false;
        }
        o->hooks[o->n_hooks++] = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct run_options *o, enum run_option option, struct cli_parser *p) {
        switch (option) {
        case RUN_OUTPUT: o->output_path = p->value; break;
        case RUN_FORCE: o->overwrite = true; break;
        case RUN_DURATION: return cli_take_duration(p, o);
        case RUN_MAX_SIZE: return cli_take_max_size(p, o);
        case RUN_DORMANT: o->dormant = true; break;
        case RUN_START_AFTER: return take_start_after(o, p);
        case RUN_START_ABOVE: return take_start_above(o, p);
        case RUN_SNAPSHOT_EVERY: return cli_take_snapshot_every(p, o);
        case RUN_GRAPH_SIGNAL: return cli_take_graph_signal(p, o);
        case RUN_GRAPH_EVERY: return cli_take_graph_every(p, o);
        case RUN_SNAPSHOT_GROWTH: return cli_take_snapshot_growth(p, o);
        case RUN_LEAKS: o->leaks = true; break;
        case RUN_QUIET: o->quiet = true; break;
        case RUN_LOG: o->log_path = p->value; break;
        case RUN_VERBOSE: o->verbose = true; break;
        case RUN_WAIT: o->wait_for_descendants = true; break;
        case RUN_FREE_STACKS: o->free_stacks = true; break;
        case RUN_ADDRESSES: o->addresses = true; break;
        case RUN_NO_SYMBOLS: o->no_symbols = true; break;
        case RUN_LOSSY: o->lossy = true; break;
        case RUN_NO_PATCH: o->no_patch = true; break;
        case RUN_HOOK: return take_hook(o, p);
        case RUN_LAUNCHER: return take_launcher(o, p);
        case RUN_SAMPLE: return cli_take_sample(p, o);
        case RUN_BUDGET: return cli_take_budget(p, o);
        case RUN_RUNTIME: o->runtime_path = p->value; break;
        case RUN_VIEW: o->on_recording = view_child_start; break;
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
        if (o.n_hooks && o.no_patch) {
                *ret_exit_status =
                        cli_parser_error(&p, "--hook has no effect with --no-patch: leave one out");
                return false;
        }
        if (!cli_check_sample(&p, &o)) {
                *ret_exit_status = p.exit_status;
                return false;
        }
        o.argv = argv + p.next_idx;
        *ret_exit_status = EXIT_STATUS_RUN_FAILED;
        *ret_options = o;
        return check_dormant(&o, &p);
}

/* Of an allocator inside the program that cannot be hooked is said before it runs: afterwards the report only looks
 * empty. */
static void warn_of_allocators(const struct run_options *o) {
        struct err err = {0};
        struct checked_program entry = {0};
        struct survey survey;
        const char *path;

        if (o->quiet || o->launcher || o->no_patch ||
            program_check(o->argv[0], OWN_MACHINE, &entry, &err) != PROGRAM_OK)
                return;
        path = entry.interpreter[0] ? entry.interpreter : entry.path;
        if (survey_make(path, OWN_MACHINE, &survey, &err) < 0)
                return;
        for (size_t i = 0; i < survey.allocators.n; i++) {
                const struct survey_allocator *a = &survey.allocators.items[i];

                if (a->n_refused)
                        fprintf(stderr,
                                "silt: '%s': cannot hook all of %s linked into it (%s): see 'silt doctor %s'\n",
                                entry.interpreter[0] ? path : o->argv[0], a->name, a->why,
                                o->argv[0]);
                if (a->is_nameless && !o->n_hooks)
                        fprintf(stderr,
                                "silt: '%s': cannot see what %s%s%s allocates, which is linked into it without symbols: see 'silt doctor %s'\n",
                                entry.interpreter[0] ? path : o->argv[0], a->name,
                                a->version[0] ? " " : "", a->version, o->argv[0]);
        }
        survey_done(&survey);
}

/* Functions that were named are looked at before anything runs. False after an error was printed. */
static bool check_hooks(struct run_options *o) {
        static struct given given;
        struct err err = {0};
        struct checked_program entry = {0};
        const char *path = o->argv[0];

        if (!o->n_hooks)
                return true;
        if (!o->launcher) {
                if (program_check(o->argv[0], OWN_MACHINE, &entry, &err) != PROGRAM_OK)
                        return true; /* which is said in its place */
                path = entry.interpreter[0] ? entry.interpreter : entry.path;
        }
        for (size_t i = 0; i < o->n_hooks; i++)
                if (given_add(&given, o->hooks[i], path, &err) < 0) {
                        fprintf(stderr, "silt: %s\n", err.text);
                        return false;
                }
        o->given = &given;
        return true;
}

int cmd_run(int argc, char **argv) {
        struct view_child view = {0};
        struct run_options options;
        int exit_status;

        if (!run_options_parse(argc, argv, &options, &exit_status))
                return exit_status;
        if (!check_hooks(&options))
                return EXIT_STATUS_RUN_FAILED;
        options.silt_version = SILT_VERSION;
        options.symbolize = options.no_symbols ? NULL : symbol_append;
        warn_of_allocators(&options);
        options.on_recording_ctx = &view;
        exit_status = supervisor_run(&options);
        view_child_wait(&view);
        return exit_status;
}
