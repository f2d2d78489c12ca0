/* SPDX-License-Identifier: MIT */
/* silt report: reads the command line and leaves the rest to report/. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_report.h"
#include "cli/rules.h"
#include "report/report.h"

enum { REPORT_TOP_MAX = 1000000 };

static const struct cli_command report_command = {
        .name = "report",
        .help_text = report_help_text,
        .options = report_option_table,
        .n_options = ARRAY_SIZE(report_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_metric(struct report_options *o, struct cli_parser *p) {
        static const char *const metrics[] = {"peak",  "end",       "allocated",
                                              "count", "temporary", "growth"};

        for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
                if (strcmp(p->value, metrics[i]) == 0) {
                        o->metric = metrics[i];
                        return true;
                }
        cli_parser_error(
                p,
                "--by: '%s' is not a metric: use peak, end, allocated, count, temporary or growth",
                p->value);
        return false;
}

static bool take_process(struct report_options *o, struct cli_parser *p) {
        o->all_processes = strcmp(p->value, "all") == 0;
        return o->all_processes || cli_value_number(p, 1, INT32_MAX, &o->pid);
}

static bool take_top(struct report_options *o, struct cli_parser *p) {
        uint64_t n;

        if (!cli_value_number(p, 0, REPORT_TOP_MAX, &n))
                return false;
        o->n_top = (uint32_t)n;
        return true;
}

static bool take_file(struct report_options *o, struct cli_parser *p) {
        if (o->path) {
                cli_parser_error(p, "one trace at a time: leave out '%s'", p->value);
                return false;
        }
        o->path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct report_options *o, enum report_option option, struct cli_parser *p) {
        switch (option) {
        case REPORT_JSON: o->json = true; break;
        case REPORT_TOP: return take_top(o, p);
        case REPORT_BY: return take_metric(o, p);
        case REPORT_FROM: return cli_value_duration(p, &o->from_ns);
        case REPORT_TO: return cli_value_duration(p, &o->to_ns);
        case REPORT_PROCESS: return take_process(o, p);
        case REPORT_BLOCKS: o->blocks = true; break;
        case REPORT_FULL: o->full = true; break;
        case REPORT_RULES: return cli_take_rules(p, &o->rules);
        case REPORT_OPTION_NONE: break;
        }
        return true;
}

bool report_options_parse(int argc, char **argv, struct report_options *ret_options,
                          int *ret_exit_status) {
        struct report_options o = REPORT_OPTIONS_DEFAULT;
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_parser_init(&p, &report_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(&o, &p);
                else
                        ok = take_option(&o, (enum report_option)id, &p);
        }
        if (ok && !o.path) {
                cli_parser_error(&p, "no trace given: write 'silt report FILE'");
                ok = false;
        } else if (ok && o.from_ns >= o.to_ns) {
                cli_parser_error(&p, "the window is empty: --from must be earlier than --to");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        if (ok)
                *ret_options = o;
        return ok;
}

int cmd_report(int argc, char **argv) {
        struct report_options options;
        struct err err = {0};
        int exit_status;

        if (!report_options_parse(argc, argv, &options, &exit_status))
                return exit_status;
        options.rules.with_config = true;
        if (report_print(stdout, &options, &err) < 0) {
                fprintf(stderr, "silt: %s\n", err.text);
                return EXIT_STATUS_TROUBLE;
        }
        return EXIT_STATUS_OK;
}
