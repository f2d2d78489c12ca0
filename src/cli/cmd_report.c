/* SPDX-License-Identifier: MIT */
/* silt report: reads the command line and leaves the rest to report/. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/filter_options.h"
#include "cli/help_report.h"
#include "cli/missing_names.h"
#include "cli/rules_option.h"
#include "cli/scope.h"
#include "query/query.h"
#include "report/report.h"

enum { REPORT_TOP_MAX = 1000000, REPORT_DEPTH_MAX = 1000000 };

static const struct cli_command report_command = {
        .name = "report",
        .help_text = report_help_text,
        .options = report_option_table,
        .n_options = ARRAY_SIZE(report_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_top(struct show_options *o, struct cli_parser *p) {
        uint64_t n;

        if (!cli_value_number(p, 0, REPORT_TOP_MAX, &n))
                return false;
        o->n_top = (uint32_t)n;
        o->is_top_given = true;
        return true;
}

/* Live figures at one moment: a window that ends there, and what was live then unless something else is asked for. */
static bool take_at(struct show_options *o, struct cli_parser *p) {
        if (!cli_value_time(p, &o->to_ns, &o->to_name))
                return false;
        o->is_at = true;
        if (!o->metric)
                o->metric = "end";
        return true;
}

static bool take_group(struct show_options *o, struct cli_parser *p) {
        static const char *const groups[] = {"site",  "function", "module", "line",
                                             "crate", "thread",   "size",   "process"};

        for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
                if (strcmp(p->value, groups[i]) == 0) {
                        o->group_by = groups[i];
                        return true;
                }
        cli_parser_error(
                p,
                "--group-by: cannot group by '%s': use site, function, module, line, crate, thread, size or process",
                p->value);
        return false;
}

static bool take_histogram(struct show_options *o, struct cli_parser *p) {
        if (strcmp(p->value, "size") == 0)
                o->histogram = SHOW_SIZES;
        else if (strcmp(p->value, "lifetime") == 0)
                o->histogram = SHOW_LIFETIMES;
        else
                cli_parser_error(p, "--histogram: '%s' has no histogram: use size or lifetime",
                                 p->value);
        return o->histogram != SHOW_NO_HISTOGRAM;
}

static bool take_depth(struct show_options *o, struct cli_parser *p) {
        uint64_t n;

        if (!cli_value_number(p, 1, REPORT_DEPTH_MAX, &n))
                return false;
        o->max_depth = (uint32_t)n;
        return true;
}

static bool take_share(struct show_options *o, struct cli_parser *p) {
        char *end;

        o->min_share_pct = strtod(p->value, &end);
        if (end > p->value && *end == '\0' && o->min_share_pct >= 0 && o->min_share_pct <= 100)
                return true;
        cli_parser_error(p, "--min-share: '%s' is not a percentage: use a number from 0 to 100",
                         p->value);
        return false;
}

/* At most one of the views that stand in for the summary, and no option that it would not look at. */
static bool check_views(const struct show_options *o, struct cli_parser *p) {
        int n_trees = o->tree + o->bottom_up + (o->callers != NULL) + (o->callees != NULL);
        int n = n_trees + o->blocks + (o->group_by != NULL) + (o->histogram != SHOW_NO_HISTOGRAM);
        const char *lost = o->max_depth ? "--depth" : o->min_share_pct >= 0 ? "--min-share" : NULL;

        if (n > 1) {
                cli_parser_error(
                        p,
                        "more than one view given: use only one of --blocks, --group-by, --tree, --bottom-up, --callers, --callees and --histogram");
                return false;
        }
        if (lost && n_trees == 0) {
                cli_parser_error(
                        p,
                        "%s: applies only to trees: add --tree, --bottom-up, --callers or --callees",
                        lost);
                return false;
        }
        return true;
}

static bool check_window(const struct show_options *o, bool has_to, struct cli_parser *p) {
        if (o->is_at && has_to) {
                cli_parser_error(p, "--at, --to: both set the end of the window: leave one out");
                return false;
        }
        if (!o->from_name && !o->to_name && o->from_ns >= o->to_ns) {
                cli_parser_error(p, "%s", cli_empty_window(o->from_ns, o->is_at));
                return false;
        }
        return true;
}

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
static bool take_option(struct show_options *o, enum report_option option, struct cli_parser *p) {
        switch (option) {
        case REPORT_JSON: o->json = true; break;
        case REPORT_TOP: return take_top(o, p);
        case REPORT_BY: return cli_take_metric(p, &o->metric);
        case REPORT_FROM: return cli_value_time(p, &o->from_ns, &o->from_name);
        case REPORT_TO: return cli_value_time(p, &o->to_ns, &o->to_name);
        case REPORT_PROCESS: return cli_take_process(p, &o->process);
        case REPORT_BLOCKS: o->blocks = true; break;
        case REPORT_FULL:
                o->full = true;
                break;
                CLI_FILTER_CASES(REPORT) : return cli_take_filter(p, &o->filter);
        case REPORT_DEBUG_PATH: return cli_take_debug_path(p);
        case REPORT_RULES: return cli_take_rules(p, &o->rules);
        case REPORT_AT: return take_at(o, p);
        case REPORT_GROUP_BY: return take_group(o, p);
        case REPORT_TREE: o->tree = true; break;
        case REPORT_BOTTOM_UP: o->bottom_up = true; break;
        case REPORT_CALLERS: o->callers = p->value; break;
        case REPORT_CALLEES: o->callees = p->value; break;
        case REPORT_HISTOGRAM: return take_histogram(o, p);
        case REPORT_DEPTH: return take_depth(o, p);
        case REPORT_MIN_SHARE: return take_share(o, p);
        case REPORT_OPTION_NONE: break;
        }
        return true;
}

bool report_options_parse(int argc, char **argv, struct show_options *ret_options,
                          int *ret_exit_status) {
        struct show_options o = SHOW_OPTIONS_DEFAULT;
        struct cli_parser p;
        bool ok = true, has_to = false;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &report_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(&o, &p);
                else
                        ok = take_option(&o, (enum report_option)id, &p);
                has_to |= id == REPORT_TO;
        }
        if (ok && !o.path) {
                cli_parser_error(&p, "no trace given: write 'silt report FILE'");
                ok = false;
        }
        ok = ok && check_window(&o, has_to, &p) && check_views(&o, &p);
        cli_choose_metric(o.filter, &o.metric);
        *ret_exit_status = p.exit_status;
        if (ok)
                *ret_options = o;
        else
                query_filter_free(o.filter);
        return ok;
}

int cmd_report(int argc, char **argv) {
        struct show_options options;
        struct err err = {0};
        int exit_status, r;

        if (!report_options_parse(argc, argv, &options, &exit_status))
                return exit_status;
        options.rules.with_config = true;
        r = report_print(stdout, &options, &err);
        query_filter_free(options.filter);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return EXIT_STATUS_OK;
}
