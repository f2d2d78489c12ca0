/* SPDX-License-Identifier: MIT */
/* silt holders: reads the command line and leaves the rest to keep/. */
#include <stdio.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/graph_source.h"
#include "cli/help_holders.h"
#include "cli/missing_names.h"
#include "keep/holders.h"

static const struct cli_command holders_command = {
        .name = "holders",
        .help_text = holders_help_text,
        .options = holders_option_table,
        .n_options = ARRAY_SIZE(holders_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct holders_words {
        struct holders_options options;
        struct request request;
};

/* FILE, or OLD and NEW. */
static bool take_operand(struct holders_words *w, struct cli_parser *p) {
        if (w->options.old_path) {
                cli_parser_error(p, "only two traces can be compared: leave out '%s'", p->value);
                return false;
        }
        w->options.old_path = w->options.view.path;
        w->options.view.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct holders_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case HOLDERS_WHY: w->options.why = p->value; break;
        case HOLDERS_JSON: w->options.view.json = true; break;
        case HOLDERS_FULL: w->options.is_full = true; break;
        case HOLDERS_DEBUG_PATH: return cli_take_debug_path(p);
        case HOLDERS_TOP:
        case HOLDERS_DEPTH:
        case HOLDERS_PROCESS:
        case HOLDERS_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct holders_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &holders_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        if (ok && !w->options.view.path) {
                cli_parser_error(&p,
                                 "no trace given: write 'silt holders FILE' or 'silt holders PID'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        return ok;
}

int cmd_holders(int argc, char **argv) {
        struct holders_words w = {.options = HOLDERS_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct err err = {0};
        int exit_status, r = 0;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                if (cli_is_pid(w.options.view.path))
                        r = cli_take_graph(w.options.view.path, false, &w.options.view.path, &err);
                if (r >= 0)
                        r = holders_print(stdout, &w.options, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        request_done(&w.request);
        return exit_status;
}
