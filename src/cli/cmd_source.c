/* SPDX-License-Identifier: MIT */
/* silt source: reads the command line and leaves the rest to source/. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_source.h"
#include "cli/missing_names.h"
#include "cli/source_places.h"
#include "source/source.h"

static const struct cli_command source_command = {
        .name = "source",
        .help_text = source_help_text,
        .options = source_option_table,
        .n_options = ARRAY_SIZE(source_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_context(struct source_options *o, struct cli_parser *p) {
        uint64_t n;

        if (!cli_value_number(p, 0, SOURCE_MAX_CONTEXT, &n))
                return false;
        o->n_context = (uint32_t)n;
        return true;
}

static bool take_operand(struct source_options *o, struct cli_parser *p) {
        if (!o->view.path) {
                o->view.path = p->value;
        } else if (!o->what) {
                o->what = p->value;
        } else {
                cli_parser_error(p, "only one function or file can be shown: leave out '%s'",
                                 p->value);
                return false;
        }
        return true;
}

/* False after an error was printed. */
static bool take_option(struct source_command *c, enum source_option option, struct cli_parser *p) {
        struct source_options *o = &c->options;

        switch (option) {
        case SOURCE_JSON: o->view.json = true; break;
        case SOURCE_CONTEXT: return take_context(o, p);
        case SOURCE_SOURCE_DIR: return cli_take_source_dir(p, o);
        case SOURCE_MAP: return cli_take_source_map(p, o);
        case SOURCE_FULL: o->is_full = true; break;
        case SOURCE_DEBUG_PATH: return cli_take_debug_path(p);
        case SOURCE_BY:
        case SOURCE_FROM:
        case SOURCE_TO:
        case SOURCE_PROCESS:
        case SOURCE_RULES: CLI_FILTER_CASES(SOURCE) : return cli_take_key(p, &c->request);
        case SOURCE_OPTION_NONE: break;
        }
        return true;
}

static bool check(const struct source_command *c, struct cli_parser *p) {
        const struct source_options *o = &c->options;

        if (!o->view.path || !o->what || !o->what[0]) {
                cli_parser_error(
                        p,
                        "%s: write 'silt source FILE FUNCTION' or 'silt source FILE SOURCE:LINE'",
                        o->view.path ? "no function or file given" : "no trace given");
                return false;
        }
        return cli_check_request(p, &c->request, REQUEST_SOURCE);
}

bool source_options_parse(int argc, char **argv, struct source_command *ret, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        *ret = (struct source_command){.options = SOURCE_OPTIONS_DEFAULT,
                                       .request = REQUEST_DEFAULT};
        ret->options.view.request = &ret->request;
        cli_missing_names_init();
        cli_parser_init(&p, &source_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_operand(&ret->options, &p);
                else
                        ok = take_option(ret, (enum source_option)id, &p);
        }
        ok = ok && check(ret, &p);
        *ret_exit_status = p.exit_status;
        return ok;
}

void source_command_done(struct source_command *c) {
        request_done(&c->request);
}

int cmd_source(int argc, char **argv) {
        struct source_command command;
        struct err err = {0};
        int exit_status, r;

        if (!source_options_parse(argc, argv, &command, &exit_status)) {
                source_command_done(&command);
                return exit_status;
        }
        command.request.rules.with_config = true;
        r = source_print(stdout, &command.options, &err);
        source_command_done(&command);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return EXIT_STATUS_OK;
}
