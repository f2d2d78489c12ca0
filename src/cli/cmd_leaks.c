/* SPDX-License-Identifier: MIT */
/* silt leaks: reads the command line and leaves the rest to keep/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/graph_source.h"
#include "cli/help_leaks.h"
#include "cli/missing_names.h"
#include "keep/leaks.h"
#include "keep/leaks_unrecorded.h"
#include "record/program_check.h"
#include "record/unrecorded_graph.h"

static const struct cli_command leaks_command = {
        .name = "leaks",
        .help_text = leaks_help_text,
        .options = leaks_option_table,
        .n_options = ARRAY_SIZE(leaks_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct leaks_words {
        struct leaks_options options;
        struct request request;
};

static bool take_operand(struct leaks_words *w, struct cli_parser *p) {
        if (w->options.view.path) {
                cli_parser_error(p, "only one process or trace can be shown: leave out '%s'",
                                 p->value);
                return false;
        }
        w->options.view.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct leaks_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case LEAKS_SHOW_REACHABLE: w->options.shows_reachable = true; break;
        case LEAKS_JSON: w->options.view.json = true; break;
        case LEAKS_SUPPRESSIONS: vec_push(&w->options.suppressions, p->value); break;
        case LEAKS_GEN_SUPPRESSIONS: w->options.gen_suppressions = true; break;
        case LEAKS_FULL: w->options.is_full = true; break;
        case LEAKS_PROCESS:
        case LEAKS_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct leaks_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &leaks_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        if (ok && !w->options.view.path) {
                cli_parser_error(&p, "no trace given: write 'silt leaks FILE' or 'silt leaks PID'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        return ok;
}

/* ---- processes --------------------------------------------------------------------------------- */

static int print_unrecorded(pid_t pid, const struct leaks_options *o, struct err *reterr) {
        struct heap_graph heap;
        struct unrecorded what;
        char text[300];
        int r;

        if (o->suppressions.n || o->gen_suppressions)
                return err_set(
                        reterr, -EINVAL,
                        "process %d is not being recorded, so its blocks have no call paths to suppress: record it with 'silt attach %d'",
                        (int)pid, (int)pid);
        r = unrecorded_graph_make(pid, &heap, &what, reterr);
        if (r < 0) {
                program_explain_go(pid, reterr);
                return r;
        }
        return leaks_unrecorded_print(
                stdout, &heap,
                &(struct leaks_unrecorded){.name = what.name,
                                           .pid = (int)pid,
                                           .is_go = program_is_go_process(pid),
                                           .n_unknown_blocks = what.n_unknown_mapped,
                                           .unwalked_bytes = what.unwalked_bytes,
                                           .anon_bytes = what.anon_bytes,
                                           .explained_bytes = what.explained_bytes,
                                           .unexplained = unrecorded_is_unexplained(&what, text,
                                                                                    sizeof(text))
                                                                  ? text
                                                                  : NULL,
                                           .n_looks = what.n_looks,
                                           .n_moving_blocks = what.n_moving_blocks,
                                           .moving_bytes = what.moving_bytes,
                                           .shows_reachable = o->shows_reachable,
                                           .json = o->view.json},
                reterr);
}

/* Its recorder takes a graph, and that is shown; without one, what its allocator knows. */
static int print_process(struct leaks_options *o, struct err *reterr) {
        pid_t pid = (pid_t)strtol(o->view.path, NULL, 10);
        int r = cli_take_recorded_graph(o->view.path, &o->view.path, reterr);

        if (r == 1)
                return print_unrecorded(pid, o, reterr);
        return r < 0 ? r : leaks_print(stdout, o, reterr);
}

int cmd_leaks(int argc, char **argv) {
        struct leaks_words w = {.options = LEAKS_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct err err = {0};
        int exit_status, r = 0;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                r = cli_is_pid(w.options.view.path) ? print_process(&w.options, &err)
                                                    : leaks_print(stdout, &w.options, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        vec_free(&w.options.suppressions);
        request_done(&w.request);
        return exit_status;
}
