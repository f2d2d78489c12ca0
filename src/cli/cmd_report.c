/* SPDX-License-Identifier: MIT */
/* silt report: reads the command line and leaves the rest to report/. */
#include <stdio.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_report.h"
#include "cli/missing_names.h"
#include "report/report.h"

static const struct cli_command report_command = {
        .name = "report",
        .help_text = report_help_text,
        .options = report_option_table,
        .n_options = ARRAY_SIZE(report_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_file(struct show_options *o, struct cli_parser *p) {
        if (o->path) {
                cli_parser_error(
                        p, "only one trace can be reported: to compare two, use 'silt diff %s %s'",
                        o->path, p->value);
                return false;
        }
        o->path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct report_command *c, enum report_option option, struct cli_parser *p) {
        switch (option) {
        case REPORT_JSON: c->options.json = true; break;
        case REPORT_DEBUG_PATH: return cli_take_debug_path(p);
        case REPORT_TOP:
        case REPORT_BY:
        case REPORT_FROM:
        case REPORT_TO:
        case REPORT_AT:
        case REPORT_PROCESS:
        case REPORT_BLOCKS:
        case REPORT_FULL:
        case REPORT_RULES:
        case REPORT_COMPONENTS:
        case REPORT_GROUP_BY:
        case REPORT_TREE:
        case REPORT_BOTTOM_UP:
        case REPORT_CALLERS:
        case REPORT_CALLEES:
        case REPORT_HISTOGRAM:
        case REPORT_DEPTH:
        case REPORT_MIN_SHARE: CLI_FILTER_CASES(REPORT) : return cli_take_key(p, &c->request);
        case REPORT_OPTION_NONE: break;
        }
        return true;
}

bool report_options_parse(int argc, char **argv, struct report_command *ret, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        *ret = (struct report_command){.request = REQUEST_DEFAULT};
        ret->options.request = &ret->request;
        cli_missing_names_init();
        cli_parser_init(&p, &report_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(&ret->options, &p);
                else
                        ok = take_option(ret, (enum report_option)id, &p);
        }
        if (ok && !ret->options.path) {
                cli_parser_error(&p, "no trace given: write 'silt report FILE'");
                ok = false;
        }
        ok = ok && cli_check_request(&p, &ret->request, REQUEST_REPORT);
        *ret_exit_status = p.exit_status;
        return ok;
}

void report_command_done(struct report_command *c) {
        request_done(&c->request);
}

int cmd_report(int argc, char **argv) {
        struct report_command command;
        struct err err = {0};
        int exit_status, r;

        if (!report_options_parse(argc, argv, &command, &exit_status)) {
                report_command_done(&command);
                return exit_status;
        }
        command.request.rules.with_config = true;
        r = report_print(stdout, &command.options, &err);
        report_command_done(&command);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return EXIT_STATUS_OK;
}
