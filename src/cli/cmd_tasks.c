/* SPDX-License-Identifier: MIT */
/* silt tasks: reads the command line and leaves the rest to task/. */
#include <stdio.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/graph_source.h"
#include "cli/help_tasks.h"
#include "cli/missing_names.h"
#include "task/tasks.h"

static const struct cli_command tasks_command = {
        .name = "tasks",
        .help_text = tasks_help_text,
        .options = tasks_option_table,
        .n_options = ARRAY_SIZE(tasks_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct tasks_words {
        struct tasks_options options;
        struct request request;
};

static bool take_operand(struct tasks_words *w, struct cli_parser *p) {
        if (w->options.view.path) {
                cli_parser_error(p, "only one trace or process can be shown: leave out '%s'",
                                 p->value);
                return false;
        }
        w->options.view.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct tasks_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case TASKS_JSON: w->options.view.json = true; break;
        case TASKS_FULL: w->options.is_full = true; break;
        case TASKS_DEBUG_PATH: return cli_take_debug_path(p);
        case TASKS_TOP:
        case TASKS_PROCESS:
        case TASKS_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct tasks_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &tasks_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        if (ok && !w->options.view.path) {
                cli_parser_error(&p, "no trace given: write 'silt tasks FILE' or 'silt tasks PID'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        return ok;
}

int cmd_tasks(int argc, char **argv) {
        struct tasks_words w = {.options = TASKS_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct err err = {0};
        int exit_status, r = 0;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                if (cli_is_pid(w.options.view.path))
                        r = cli_take_graph(w.options.view.path, true, &w.options.view.path, &err);
                if (r >= 0)
                        r = tasks_print(stdout, &w.options, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        request_done(&w.request);
        return exit_status;
}
