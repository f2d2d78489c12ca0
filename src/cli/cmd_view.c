/* SPDX-License-Identifier: MIT */
/* silt view: reads the command line, opens the traces, and leaves serving the page to serve/. */
#include <poll.h>

#include "base/macros.h"
#include "base/str.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_view.h"
#include "cli/missing_names.h"
#include "cli/page_serving.h"
#include "cli/source_places.h"
#include "serve/trace_responder.h"

enum { RETRY_MS = 50 };

static const struct cli_command view_command = {
        .name = "view",
        .help_text = view_help_text,
        .options = view_option_table,
        .n_options = ARRAY_SIZE(view_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

/* ---- options ----------------------------------------------------------------------------------- */

/* The newer trace is the last one. */
static bool take_file(struct view_command *c, struct cli_parser *p) {
        if (c->old_path) {
                cli_parser_error(p, "more than two traces given: leave out '%s'", p->value);
                return false;
        }
        c->old_path = c->path;
        c->path = p->value;
        return true;
}

static bool take_port(struct view_command *c, struct cli_parser *p) {
        uint64_t port;

        if (!cli_value_number(p, 0, UINT16_MAX, &port))
                return false;
        c->port = (uint16_t)port;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct view_command *c, enum view_option option, struct cli_parser *p) {
        switch (option) {
        case VIEW_PORT: return take_port(c, p);
        case VIEW_NO_BROWSER: c->no_browser = true; break;
        case VIEW_LISTEN: c->listen = p->value; break;
        case VIEW_ONCE: c->once = true; break;
        case VIEW_WAIT: return cli_value_duration(p, &c->wait_ns);
        case VIEW_SOURCE_DIR: return cli_take_source_dir(p, &c->source);
        case VIEW_MAP: return cli_take_source_map(p, &c->source);
        case VIEW_DEBUG_PATH: return cli_take_debug_path(p);
        case VIEW_BY:
        case VIEW_FROM:
        case VIEW_TO:
        case VIEW_AT:
        case VIEW_PROCESS:
        case VIEW_GROUP_BY:
        case VIEW_TREE:
        case VIEW_BOTTOM_UP:
        case VIEW_CALLERS:
        case VIEW_CALLEES:
        case VIEW_FULL:
        case VIEW_COMPONENTS:
        case VIEW_RULES: CLI_FILTER_CASES(VIEW) : return cli_take_key(p, &c->request);
        case VIEW_OPTION_NONE: break;
        }
        return true;
}

bool view_options_parse(int argc, char **argv, struct view_command *ret, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        *ret = (struct view_command){.request = REQUEST_DEFAULT, .source = SOURCE_OPTIONS_DEFAULT};
        cli_missing_names_init();
        cli_parser_init(&p, &view_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(ret, &p);
                else
                        ok = take_option(ret, (enum view_option)id, &p);
        }
        if (ok && !ret->path) {
                cli_parser_error(&p, "no trace given: write 'silt view FILE'");
                ok = false;
        }
        ok = ok && cli_check_request(&p, &ret->request, REQUEST_REPORT);
        *ret_exit_status = p.exit_status;
        return ok;
}

void view_command_done(struct view_command *c) {
        request_done(&c->request);
}

/* ---- what the page shows first ------------------------------------------------------------------ */

static const char *first_view(const struct view_command *c) {
        if (c->old_path)
                return "compare";
        switch (c->request.shape) {
        case REQUEST_TREE:
        case REQUEST_BOTTOM_UP:
        case REQUEST_CALLERS:
        case REQUEST_CALLEES: return "tree";
        case REQUEST_GROUPS: return "sites";
        case REQUEST_BLOCKS:
        case REQUEST_SIZES:
        case REQUEST_LIFETIMES: return "blocks";
        case REQUEST_SUMMARY: break;
        }
        return "overview";
}

/* "#sites?from=5s&group-by=module"; nothing where the page would begin so anyway. */
static void add_fragment(const struct view_command *c, struct str *to) {
        struct str keys = {0};

        request_add_url(&c->request, &keys);
        if (c->old_path) {
                if (keys.n)
                        str_add(&keys, "&");
                str_add(&keys, "against=1");
        }
        if (keys.n)
                str_addf(to, "#%s?%s", first_view(c), str_text(&keys));
        str_done(&keys);
}

/* ---- serving ------------------------------------------------------------------------------------ */

static int open_traces(const struct view_command *c, struct trace_responder **ret,
                       struct err *reterr) {
        struct answerer_options o = {.path = c->path,
                                     .old_path = c->old_path,
                                     .rules = c->request.rules,
                                     .source = &c->source};
        uint64_t n_tries = c->wait_ns / (RETRY_MS * 1000000ull);
        int r;

        for (;; n_tries--) {
                r = trace_responder_new(&o, ret, reterr);
                if (r >= 0 || n_tries == 0)
                        return r;
                *reterr = (struct err){0};
                poll(NULL, 0,
                     RETRY_MS); /* a recording that has just begun has nothing to read for a moment */
        }
}

/* What the page is to show first must exist, as for a report. What a recording that goes on lacks may still come. */
static int check_request(const struct view_command *c, struct trace_responder *responder,
                         struct err *reterr) {
        struct answerer *answerer = trace_responder_answerer(responder);
        struct request_resolved resolved;
        struct asker *k;
        int r;

        if (answerer_is_growing(answerer))
                return 0;
        k = asker_new(answerer);
        r = request_resolve(&c->request, asker_query(k), REQUEST_ALL, &resolved, reterr);
        request_resolved_done(&resolved);
        asker_free(k);
        return r;
}

static int serve(const struct view_command *c, struct err *reterr) {
        struct page_serving s = {.command = "view",
                                 .what = "the trace and the sources it names",
                                 .no_browser = c->no_browser,
                                 .server = {.listen = c->listen, .port = c->port, .once = c->once}};
        struct trace_responder *responder = NULL;
        struct str fragment = {0};
        int r = page_serving_check(&s, reterr);

        if (r < 0)
                return r;
        r = open_traces(c, &responder, reterr); /* which Ctrl-C ends */
        if (r < 0)
                return r;
        r = check_request(c, responder, reterr);
        if (r >= 0) {
                add_fragment(c, &fragment);
                s.fragment = str_text(&fragment);
                s.server.responder = trace_responder_table(responder);
                r = page_serve(&s, reterr);
        }
        str_done(&fragment);
        trace_responder_free(responder);
        return r;
}

int cmd_view(int argc, char **argv) {
        struct view_command command;
        struct err err = {0};
        int exit_status, r;

        if (!view_options_parse(argc, argv, &command, &exit_status)) {
                view_command_done(&command);
                return exit_status;
        }
        command.request.rules.with_config = true;
        r = serve(&command, &err);
        view_command_done(&command);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
