/* SPDX-License-Identifier: MIT */
/* silt check: reads the command line and leaves the rest to diff/. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_check.h"
#include "cli/missing_names.h"

static const struct cli_command check_cli = {
        .name = "check",
        .help_text = check_help_text,
        .options = check_option_table,
        .n_options = ARRAY_SIZE(check_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

#define CHECK_DEFAULT_FAIL_ABOVE "3%"

struct reading {
        struct check_command *command;
        struct check_options *o;
        struct cli_parser p;
        VEC(const char *) metrics; /* of --by */
        double fail_above_pct;
        const char *fail_above; /* as written; NULL: not given */
};

static char *keep(struct reading *r, const char *text, size_t n) {
        char *copy = strndup(text, n);

        if (!copy)
                abort();
        vec_push(&r->command->texts, copy);
        return copy;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void add_limit(struct reading *r, enum limit_kind kind, enum limit_unit unit, double v) {
        vec_push(&r->o->limits, (struct limit){.kind = kind,
                                               .unit = unit,
                                               .limit = v,
                                               .text = r->p.value,
                                               .rate_s = 1,
                                               .rate_name = "s"});
}

static bool take_bytes(struct reading *r, enum limit_kind kind) {
        uint64_t bytes;

        if (!cli_value_bytes(&r->p, &bytes))
                return false;
        add_limit(r, kind, LIMIT_IN_BYTES, (double)bytes);
        return true;
}

static bool take_time(struct reading *r, enum limit_kind kind) {
        uint64_t ns;

        if (!cli_value_duration(&r->p, &ns))
                return false;
        add_limit(r, kind, LIMIT_IN_NS, (double)ns);
        return true;
}

static bool take_count(struct reading *r) {
        uint64_t n;

        if (!cli_value_count(&r->p, &n))
                return false;
        add_limit(r, LIMIT_ALLOCATIONS, LIMIT_IN_COUNT, (double)n);
        return true;
}

static bool take_share(struct reading *r) {
        double pct;

        if (!cli_value_percent(&r->p, &pct))
                return false;
        add_limit(r, LIMIT_TEMPORARY_SHARE, LIMIT_IN_PERCENT, pct);
        return true;
}

/* 1%/min, 10K/s */
static bool take_rate(struct reading *r) {
        static const struct {
                const char *written, *name;
                double s;
        } times[] = {{"s", "s", 1},
                     {"min", "min", 60},
                     {"m", "min", 60},
                     {"h", "h", 3600},
                     {"d", "d", 86400}};
        const char *text = r->p.value, *slash = strchr(text, '/');
        struct err err = {0};
        uint64_t bytes = 0;
        double amount = 0;
        bool is_pct = false, is_known = false;
        size_t time = 0;

        if (slash) {
                char *copy = keep(r, text, (size_t)(slash - text)), *end = NULL;
                size_t n = strlen(copy);

                is_pct = n > 0 && copy[n - 1] == '%';
                if (is_pct) {
                        amount = copy[0] >= '0' && copy[0] <= '9' ? strtod(copy, &end) : 0;
                        is_known = end == copy + n - 1 && amount >= 0 && amount <= 1e9;
                } else {
                        is_known = unit_parse_bytes(copy, &bytes, &err) >= 0;
                        amount = (double)bytes;
                }
                while (time < ARRAY_SIZE(times) && strcmp(slash + 1, times[time].written) != 0)
                        time++;
        }
        if (!is_known || time == ARRAY_SIZE(times)) {
                cli_parser_error(&r->p,
                                 "--max-growth: '%s' is not a rate: write 1%%/min, 10K/s or 5M/h",
                                 text);
                return false;
        }
        add_limit(r, LIMIT_GROWTH, is_pct ? LIMIT_IN_PERCENT_PER_S : LIMIT_IN_BYTES_PER_S,
                  amount / times[time].s);
        r->o->limits.items[r->o->limits.n - 1].rate_s = times[time].s;
        r->o->limits.items[r->o->limits.n - 1].rate_name = times[time].name;
        return true;
}

/* FUNCTION=BYTES: names of operators have '=' too, so the last one counts. */
static bool take_function(struct reading *r) {
        const char *equals = strrchr(r->p.value, '=');
        struct err err = {0};
        uint64_t bytes;

        if (!equals || equals == r->p.value || unit_parse_bytes(equals + 1, &bytes, &err) < 0) {
                cli_parser_error(&r->p,
                                 "--max: '%s' does not limit a function: write Cache::insert=10M",
                                 r->p.value);
                return false;
        }
        add_limit(r, LIMIT_FUNCTION, LIMIT_IN_BYTES, (double)bytes);
        r->o->limits.items[r->o->limits.n - 1].function =
                keep(r, r->p.value, (size_t)(equals - r->p.value));
        r->o->limits.items[r->o->limits.n - 1].text = equals + 1;
        return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool take_file(struct reading *r) {
        if (r->o->source.path) {
                cli_parser_error(
                        &r->p,
                        "only one trace can be checked: to compare it with another, add '--against %s'",
                        r->p.value);
                return false;
        }
        r->o->source.path = r->p.value;
        return true;
}

static bool take_metric(struct reading *r) {
        struct request one = REQUEST_DEFAULT;

        if (!cli_take_key(&r->p, &one))
                return false;
        vec_push(&r->metrics, query_metric_name(one.metric));
        return true;
}

static bool take_fail_above(struct reading *r) {
        r->fail_above = r->p.value;
        return cli_value_percent(&r->p, &r->fail_above_pct);
}

/* False after an error was printed. */
static bool take_option(struct reading *r, enum check_option option) {
        switch (option) {
        case CHECK_MAX_PEAK: return take_bytes(r, LIMIT_PEAK);
        case CHECK_MAX_END: return take_bytes(r, LIMIT_END);
        case CHECK_MAX_GROWTH: return take_rate(r);
        case CHECK_MAX_ALLOCATED: return take_bytes(r, LIMIT_ALLOCATED);
        case CHECK_MAX_ALLOCATIONS: return take_count(r);
        case CHECK_MAX_TEMPORARY_SHARE: return take_share(r);
        case CHECK_MAX_RSS: return take_bytes(r, LIMIT_RSS);
        case CHECK_MAX_CPU: return take_time(r, LIMIT_CPU);
        case CHECK_MAX_BLOCKED: return take_time(r, LIMIT_BLOCKED);
        case CHECK_MAX_LEAKED: return take_bytes(r, LIMIT_LEAKED);
        case CHECK_SUPPRESSIONS: vec_push(&r->o->suppressions, r->p.value); break;
        case CHECK_MAX: return take_function(r);
        case CHECK_AGAINST: r->o->against = r->p.value; break;
        case CHECK_FAIL_ABOVE: return take_fail_above(r);
        case CHECK_BY: return take_metric(r);
        case CHECK_STRICT: r->o->strict = true; break;
        case CHECK_JSON: r->o->json = true; break;
        case CHECK_DEBUG_PATH: return cli_take_debug_path(&r->p);
        case CHECK_FROM:
        case CHECK_TO:
        case CHECK_PROCESS:
        case CHECK_RULES:
                CLI_FILTER_CASES(CHECK) : return cli_take_key(&r->p, &r->command->request);
        case CHECK_OPTION_NONE: break;
        }
        return true;
}

/* ---- what the words mean together ------------------------------------------------------------ */

static void add_comparisons(struct reading *r) {
        r->p.value = r->fail_above ? r->fail_above : CHECK_DEFAULT_FAIL_ABOVE;
        if (r->metrics.n == 0)
                vec_push(&r->metrics, NULL);
        for (size_t i = 0; i < r->metrics.n; i++) {
                add_limit(r, LIMIT_AGAINST, LIMIT_IN_PERCENT, r->fail_above_pct);
                r->o->limits.items[r->o->limits.n - 1].metric = r->metrics.items[i];
        }
}

static bool refuse(struct reading *r, const char *why) {
        cli_parser_error(&r->p, "%s", why);
        return false;
}

static bool limits_leaks(const struct check_options *o) {
        for (size_t i = 0; i < o->limits.n; i++)
                if (o->limits.items[i].kind == LIMIT_LEAKED)
                        return true;
        return false;
}

static bool check_all(struct reading *r) {
        if (!r->o->source.path)
                return refuse(r, "no trace given: write 'silt check FILE --max-peak 200M'");
        if (!r->o->against && (r->fail_above || r->metrics.n))
                return refuse(
                        r,
                        "--fail-above and --by need a trace to compare with: add --against BASE");
        if (r->o->suppressions.n && !limits_leaks(r->o))
                return refuse(r, "--suppressions is about leaks: add --max-leaked BYTES");
        if (!cli_check_request(&r->p, &r->command->request, REQUEST_DIFF))
                return false;
        if (r->o->against)
                add_comparisons(r);
        if (r->o->limits.n == 0)
                return refuse(
                        r,
                        "no limit given: add --max-peak 200M or --against BASE, or see 'silt check --help'");
        return true;
}

bool check_options_parse(int argc, char **argv, struct check_command *ret, int *ret_exit_status) {
        struct reading r = {.command = ret, .o = &ret->options, .fail_above_pct = 3};
        bool ok = true;
        int id;

        *ret = (struct check_command){.request = REQUEST_DEFAULT};
        ret->options.source.request = &ret->request;
        cli_missing_names_init();
        cli_parser_init(&r.p, &check_cli, argc, argv);
        while (ok && (id = cli_parser_next(&r.p)) != CLI_END)
                ok = id != CLI_STOP &&
                     (id == CLI_OPERAND ? take_file(&r) : take_option(&r, (enum check_option)id));
        ok = ok && check_all(&r);
        *ret_exit_status = r.p.exit_status;
        vec_free(&r.metrics);
        return ok;
}

void check_command_done(struct check_command *c) {
        request_done(&c->request);
        vec_free(&c->options.limits);
        vec_free(&c->options.suppressions);
        for (size_t i = 0; i < c->texts.n; i++)
                free(c->texts.items[i]);
        vec_free(&c->texts);
        *c = (struct check_command){0};
}

static int exit_status_of(enum check_status status, bool is_strict) {
        switch (status) {
        case CHECK_OK: return EXIT_STATUS_OK;
        case CHECK_FAILED: return EXIT_STATUS_FOUND;
        case CHECK_UNTOLD: break;
        }
        return is_strict ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}

int cmd_check(int argc, char **argv) {
        struct check_command command;
        enum check_status status;
        struct err err = {0};
        int exit_status, r;
        bool is_strict;

        if (!check_options_parse(argc, argv, &command, &exit_status)) {
                check_command_done(&command);
                return exit_status;
        }
        command.request.rules.with_config = true;
        is_strict = command.options.strict;
        r = check_print(stdout, &command.options, &status, &err);
        check_command_done(&command);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return exit_status_of(status, is_strict);
}
