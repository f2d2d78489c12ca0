/* SPDX-License-Identifier: MIT */
/* silt diff: reads the command line and leaves the rest to diff/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_diff.h"
#include "cli/missing_names.h"

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
        struct request both;                  /* what is asked of both */
        struct request own[NAME_N_SIDES];     /* FILE@WINDOW and --process: of one */
        struct request moments[NAME_N_SIDES]; /* --at */
        size_t n_files, n_moments;
        bool has_window;                   /* --from or --to */
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

/* About the word just read. */
static bool refuse_word(struct reading *r, const struct err *why) {
        cli_parser_error(&r->p, "%s: %s", r->p.value, why->text);
        return false;
}

static bool take_time(struct reading *r, const char *key, const char *text, size_t n) {
        struct err err = {0};

        return request_set(&r->own[r->n_files], key, keep(r, text, n), &err) >= 0 ||
               refuse_word(r, &err);
}

/* A..B, A.., ..B or a moment. */
static bool take_window(struct reading *r, const char *text) {
        const char *dots = strstr(text, "..");
        struct err err = {0};

        r->has_own_window[r->n_files] = true;
        if (!dots)
                return take_time(r, "at", text, strlen(text));
        if (dots > text && !take_time(r, "from", text, (size_t)(dots - text)))
                return false;
        if (dots[2] && !take_time(r, "to", dots + 2, strlen(dots + 2)))
                return false;
        return request_check(&r->own[r->n_files], REQUEST_DIFF, &err) >= 0 || refuse_word(r, &err);
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
                if (!take_window(r, at + 1))
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
        return cli_take_key(&r->p, &r->moments[r->n_moments++]);
}

/* One for both, or OLD,NEW. */
static bool take_process(struct reading *r) {
        const char *value = r->p.value, *comma = strchr(value, ',');
        bool ok = true;

        for (unsigned side = 0; side < NAME_N_SIDES && ok; side++) {
                if (comma)
                        r->p.value = side == NAME_NEW ? comma + 1
                                                      : keep(r, value, (size_t)(comma - value));
                ok = cli_take_key(&r->p, &r->own[side]);
        }
        return ok;
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
        case DIFF_MIN_CHANGE: return take_change(r);
        case DIFF_AT: return take_moment(r);
        case DIFF_PROCESS: return take_process(r);
        case DIFF_DEBUG_PATH: return cli_take_debug_path(&r->p);
        case DIFF_FROM:
        case DIFF_TO: r->has_window = true; return cli_take_key(&r->p, &r->both);
        case DIFF_BY:
        case DIFF_TOP:
        case DIFF_FULL:
        case DIFF_PER_SECOND:
        case DIFF_RULES: CLI_FILTER_CASES(DIFF) : return cli_take_key(&r->p, &r->both);
        case DIFF_OPTION_NONE: break;
        }
        return true;
}

/* ---- what the words mean together ------------------------------------------------------------ */

static bool refuse(struct reading *r, const char *why) {
        cli_parser_error(&r->p, "%s", why);
        return false;
}

static bool check_windows(struct reading *r) {
        bool has_own = r->has_own_window[NAME_OLD] || r->has_own_window[NAME_NEW];

        if (has_own + r->has_window + (r->n_moments > 0) > 1)
                return refuse(
                        r,
                        "conflicting times: use only one of FILE@WINDOW, --from and --to, or --at");
        if (has_own && r->own[NAME_OLD].at.is_set != r->own[NAME_NEW].at.is_set)
                return refuse(
                        r, "cannot compare a moment with a window: write FILE@10s..20s for both");
        return cli_check_request(&r->p, &r->both, REQUEST_DIFF);
}

static void move_time(struct request_time *to, struct request_time *from) {
        if (!from->is_set)
                return;
        free(to->name);
        *to = *from;
        *from = (struct request_time){0};
}

/* What is asked of one: what is asked of both, and what is its own. */
static void set_request(struct reading *r, unsigned side) {
        struct request own = request_copy(&r->own[side]), *to = &r->command->requests[side];
        size_t moment = MIN(side, (unsigned)r->n_moments - 1);
        struct request at = request_copy(r->n_moments ? &r->moments[moment] : NULL);

        *to = request_copy(&r->both);
        to->process = TAKE_PTR(own.process);
        move_time(&to->from, &own.from);
        move_time(&to->to, &own.to);
        move_time(&to->at, &own.at);
        move_time(&to->at, &at.at);
        request_done(&own);
        request_done(&at);
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
        return check_windows(r);
}

bool diff_options_parse(int argc, char **argv, struct diff_command *ret, int *ret_exit_status) {
        struct reading r = {.command = ret,
                            .o = &ret->options,
                            .both = REQUEST_DEFAULT,
                            .own = {REQUEST_DEFAULT, REQUEST_DEFAULT},
                            .moments = {REQUEST_DEFAULT, REQUEST_DEFAULT}};
        bool ok = true;
        int id;

        *ret = (struct diff_command){.options = DIFF_OPTIONS_DEFAULT};
        cli_missing_names_init();
        cli_parser_init(&r.p, &diff_cli, argc, argv);
        while (ok && (id = cli_parser_next(&r.p)) != CLI_END)
                ok = id != CLI_STOP &&
                     (id == CLI_OPERAND ? take_file(&r) : take_option(&r, (enum diff_option)id));
        ok = ok && check_all(&r);
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                set_request(&r, side);
                ret->options.sources[side].request = &ret->requests[side];
        }
        request_done(&r.both);
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                request_done(&r.own[side]);
                request_done(&r.moments[side]);
        }
        *ret_exit_status = r.p.exit_status;
        return ok;
}

void diff_command_done(struct diff_command *c) {
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                request_done(&c->requests[side]);
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
        command.requests[NAME_OLD].rules.with_config =
                true; /* both are shown by the names of the first */
        r = diff_print(stdout, &command.options, &is_found, &err);
        diff_command_done(&command);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return is_found ? EXIT_STATUS_FOUND : EXIT_STATUS_OK;
}
