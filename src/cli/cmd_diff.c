/* SPDX-License-Identifier: MIT */
/* silt diff: reads the command line and leaves the rest to diff/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/filter_options.h"
#include "cli/help_diff.h"
#include "cli/missing_names.h"
#include "cli/rules_option.h"
#include "cli/scope.h"
#include "query/query.h"

enum { DIFF_TOP_MAX = 1000000 };

static const struct cli_command diff_cli = {
        .name = "diff",
        .help_text = diff_help_text,
        .options = diff_option_table,
        .n_options = ARRAY_SIZE(diff_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct reading {
        struct diff_command *command;
        struct diff_options *o;
        struct cli_parser p;
        size_t n_files, n_moments;
        bool has_window; /* --from or --to */
        uint64_t moments_ns[NAME_N_SIDES], from_ns, to_ns;
        const char *moments[NAME_N_SIDES], *from_name,
                *to_name;                  /* names of such; NULL: the times */
        bool has_own_window[NAME_N_SIDES]; /* FILE@WINDOW */
};

static char *keep(struct reading *r, const char *text, size_t n) {
        char *copy = strndup(text, n);

        if (!copy)
                abort();
        vec_push(&r->command->texts, copy);
        return copy;
}

/* ---- FILE@WINDOW ----------------------------------------------------------------------------- */

static bool take_time(struct reading *r, const char *text, size_t n, uint64_t *ret_ns,
                      const char **ret_name) {
        char copy[64];
        struct err err = {0};

        if (n > 1 && text[0] == '@') {
                *ret_name = keep(r, text + 1, n - 1);
                return true;
        }
        if (n >= sizeof(copy))
                n = sizeof(copy) - 1;
        memcpy(copy, text, n);
        copy[n] = '\0';
        if (unit_parse_duration(copy, ret_ns, &err) >= 0)
                return true;
        cli_parser_error(&r->p, "%s: %s", r->p.value, err.text);
        return false;
}

/* A..B, A.., ..B or a moment. */
static bool take_window(struct reading *r, const char *text, struct diff_source *s) {
        const char *dots = strstr(text, "..");

        r->has_own_window[r->n_files] = true;
        if (!dots) {
                s->is_at = true;
                return take_time(r, text, strlen(text), &s->to_ns, &s->to_name);
        }
        if (dots > text && !take_time(r, text, (size_t)(dots - text), &s->from_ns, &s->from_name))
                return false;
        if (dots[2] && !take_time(r, dots + 2, strlen(dots + 2), &s->to_ns, &s->to_name))
                return false;
        if (s->from_name || s->to_name || s->from_ns < s->to_ns)
                return true;
        cli_parser_error(&r->p, "%s: the window is empty: it must end after it begins", r->p.value);
        return false;
}

static bool begins_name(const char *text, const char *at) {
        return (at > text && at[-1] == '@') || (at > text + 1 && at[-1] == '.' && at[-2] == '.');
}

/* The '@' that begins a window is the first one with a file in front of it, else the last that does not begin a moment's
 * name. A file of the whole name has none. */
static const char *find_window(struct reading *r, const char *text) {
        const char *at;

        if (!strchr(text, '@') || access(text, F_OK) == 0)
                return NULL;
        for (at = strchr(text, '@'); at; at = strchr(at + 1, '@'))
                if (at == text || access(keep(r, text, (size_t)(at - text)), F_OK) == 0)
                        return at;
        for (at = text + strlen(text) - 1; at > text && (*at != '@' || begins_name(text, at));)
                at--;
        return at > text ? at : strchr(text, '@');
}

static bool take_file(struct reading *r) {
        const char *text = r->p.value, *at = find_window(r, text);
        struct diff_source *s = &r->o->sources[MIN(r->n_files, (size_t)NAME_NEW)];

        if (r->n_files == NAME_N_SIDES) {
                cli_parser_error(&r->p, "only two traces can be compared: leave out '%s'", text);
                return false;
        }
        s->path = text;
        if (at) {
                if (!take_window(r, at + 1, s))
                        return false;
                s->path = keep(r, text, (size_t)(at - text));
        }
        if (s->path[0] == '\0' && r->n_files == NAME_NEW)
                s->path = r->o->sources[NAME_OLD].path;
        r->n_files++;
        return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool take_moment(struct reading *r) {
        if (r->n_moments == NAME_N_SIDES) {
                cli_parser_error(&r->p, "--at: given more than twice: leave out '%s'", r->p.value);
                return false;
        }
        r->n_moments++;
        return cli_value_time(&r->p, &r->moments_ns[r->n_moments - 1],
                              &r->moments[r->n_moments - 1]);
}

/* One for both, or OLD,NEW. */
static bool take_process(struct reading *r) {
        const char *comma = strchr(r->p.value, ',');
        struct diff_source *s = r->o->sources;

        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                s[side].process = comma && side == NAME_NEW ? comma + 1 : r->p.value;
        if (comma)
                s[NAME_OLD].process = keep(r, r->p.value, (size_t)(comma - r->p.value));
        if (s[NAME_OLD].process[0] && s[NAME_NEW].process[0])
                return true;
        cli_parser_error(&r->p, "--process: '%s' is not a process: use a pid, a name, main or all",
                         r->p.value);
        return false;
}

static bool take_top(struct reading *r) {
        uint64_t n;

        if (!cli_value_number(&r->p, 0, DIFF_TOP_MAX, &n))
                return false;
        r->o->n_top = (uint32_t)n;
        r->o->has_top = true;
        return true;
}

/* 5% or 64K. */
static bool take_change(struct reading *r) {
        const char *text = r->p.value;
        double pct;

        if (strchr(text, '%') == NULL)
                return cli_value_bytes(&r->p, &r->o->min_change_bytes);
        if (!cli_value_percent(&r->p, &pct))
                return false;
        r->o->min_change_bytes = UINT64_MAX;
        r->o->min_change_pct = pct;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct reading *r, enum diff_option option) {
        switch (option) {
        case DIFF_JSON: r->o->json = true; break;
        case DIFF_BY: return cli_take_metric(&r->p, &r->o->metric);
        case DIFF_TOP: return take_top(r);
        case DIFF_FULL: r->o->full = true; break;
        case DIFF_MIN_CHANGE: return take_change(r);
        case DIFF_PER_SECOND: r->o->per_second = true; break;
        case DIFF_FROM:
                r->has_window = true;
                return cli_value_time(&r->p, &r->from_ns, &r->from_name);
        case DIFF_TO: r->has_window = true; return cli_value_time(&r->p, &r->to_ns, &r->to_name);
        case DIFF_AT: return take_moment(r);
        case DIFF_PROCESS:
                return take_process(r);
                CLI_FILTER_CASES(DIFF) : return cli_take_filter(&r->p, &r->o->filter);
        case DIFF_DEBUG_PATH: return cli_take_debug_path(&r->p);
        case DIFF_RULES: return cli_take_rules(&r->p, &r->o->rules);
        case DIFF_OPTION_NONE: break;
        }
        return true;
}

/* ---- what the words mean together ------------------------------------------------------------ */

static bool refuse(struct reading *r, const char *why) {
        cli_parser_error(&r->p, "%s", why);
        return false;
}

static bool set_windows(struct reading *r) {
        struct diff_source *s = r->o->sources;
        bool has_own = r->has_own_window[NAME_OLD] || r->has_own_window[NAME_NEW];

        if (has_own + r->has_window + (r->n_moments > 0) > 1)
                return refuse(
                        r,
                        "conflicting times: use only one of FILE@WINDOW, --from and --to, or --at");
        if (r->has_window && !r->from_name && !r->to_name && r->from_ns >= r->to_ns)
                return refuse(r, cli_empty_window(r->from_ns, false));
        if (has_own && s[NAME_OLD].is_at != s[NAME_NEW].is_at)
                return refuse(
                        r, "cannot compare a moment with a window: write FILE@10s..20s for both");
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                if (r->has_window) {
                        s[side].from_ns = r->from_ns;
                        s[side].to_ns = r->to_ns;
                        s[side].from_name = r->from_name;
                        s[side].to_name = r->to_name;
                } else if (r->n_moments) {
                        s[side].is_at = true;
                        s[side].to_ns = r->moments_ns[MIN(side, (unsigned)r->n_moments - 1)];
                        s[side].to_name = r->moments[MIN(side, (unsigned)r->n_moments - 1)];
                }
        }
        return true;
}

static bool check_all(struct reading *r) {
        struct diff_source *s = r->o->sources;

        if (r->n_files == 0 || s[NAME_OLD].path[0] == '\0')
                return refuse(r, "no traces given: write 'silt diff OLD NEW'");
        if (r->n_files == 1) {
                if (r->n_moments != NAME_N_SIDES)
                        return refuse(
                                r,
                                "only one trace given: add a second, two moments (--at 10s --at 50s) or two windows (FILE@10s..20s @50s..60s)");
                s[NAME_NEW].path = s[NAME_OLD].path;
        }
        return set_windows(r);
}

bool diff_options_parse(int argc, char **argv, struct diff_command *ret, int *ret_exit_status) {
        struct reading r = {.command = ret, .o = &ret->options, .to_ns = UINT64_MAX};
        bool ok = true;
        int id;

        *ret = (struct diff_command){.options = DIFF_OPTIONS_DEFAULT};
        cli_missing_names_init();
        cli_parser_init(&r.p, &diff_cli, argc, argv);
        while (ok && (id = cli_parser_next(&r.p)) != CLI_END)
                ok = id != CLI_STOP &&
                     (id == CLI_OPERAND ? take_file(&r) : take_option(&r, (enum diff_option)id));
        ok = ok && check_all(&r);
        cli_choose_metric(r.o->filter, &r.o->metric);
        *ret_exit_status = r.p.exit_status;
        return ok;
}

void diff_command_done(struct diff_command *c) {
        query_filter_free(c->options.filter);
        for (size_t i = 0; i < c->texts.n; i++)
                free(c->texts.items[i]);
        vec_free(&c->texts);
        *c = (struct diff_command){0};
}

int cmd_diff(int argc, char **argv) {
        struct diff_command command;
        struct err err = {0};
        int exit_status, r;
        bool is_found;

        if (!diff_options_parse(argc, argv, &command, &exit_status)) {
                diff_command_done(&command);
                return exit_status;
        }
        command.options.rules.with_config = true;
        r = diff_print(stdout, &command.options, &is_found, &err);
        diff_command_done(&command);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return is_found ? EXIT_STATUS_FOUND : EXIT_STATUS_OK;
}
