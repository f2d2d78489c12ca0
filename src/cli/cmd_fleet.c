/* SPDX-License-Identifier: MIT */
/* silt fleet: reads the command line, and leaves asking the server to fleet/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "cli/certificates.h"
#include "cli/commands.h"
#include "cli/help_fleet.h"
#include "cli/options.h"
#include "cli/page_serving.h"
#include "fleet/fleet_question.h"
#include "fleet/fleet_responder.h"
#include "fleet/server_link.h"
#include "fleet/server_url.h"
#include "show/style.h"

static const struct cli_command fleet_command = {
        .name = "fleet",
        .help_text = fleet_help_text,
        .options = fleet_option_table,
        .n_options = ARRAY_SIZE(fleet_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct fleet_words {
        struct fleet_question question;
        const char *from, *ca_file;
        uint64_t max_ns, port;
        bool is_json, is_csv, has_since, no_browser, is_view, is_init;
};

enum { RELEASE_SINCE_S = 7 * 86400, NS_PER_S = 1000000000 };

static bool take(struct fleet_words *w, const char *key, struct cli_parser *p) {
        struct err err = {0};

        if (fleet_question_take(&w->question, key, p->value, &err) >= 0)
                return true;
        cli_parser_error(p, "--%s: %s", key, err.text);
        return false;
}

static bool take_option(struct fleet_words *w, enum fleet_option option, struct cli_parser *p) {
        switch (option) {
        case FLEET_FROM: w->from = p->value; break;
        case FLEET_CA: w->ca_file = p->value; break;
        case FLEET_SINCE: w->has_since = true; return take(w, "since", p);
        case FLEET_UNTIL: return take(w, "until", p);
        case FLEET_SERVICE: return take(w, "service", p);
        case FLEET_HOST: return take(w, "host", p);
        case FLEET_BUILD: return take(w, "build", p);
        case FLEET_OLD: return take(w, "old", p);
        case FLEET_NEW: return take(w, "new", p);
        case FLEET_TOP: return take(w, "top", p);
        case FLEET_MAX_TIME: return cli_value_duration(p, &w->max_ns);
        case FLEET_JSON: w->is_json = true; break;
        case FLEET_CSV: w->is_csv = true; break;
        case FLEET_PORT: return cli_value_number(p, 0, UINT16_MAX, &w->port);
        case FLEET_NO_BROWSER: w->no_browser = true; break;
        case FLEET_OPTION_NONE: break;
        }
        return true;
}

/* The question, then the statement of sql. */
static bool take_operand(struct fleet_words *w, struct cli_parser *p) {
        struct err err = {0};
        int r;

        bool is_first = w->question.kind == FLEET_N_KINDS && !w->is_view && !w->is_init;

        if (is_first && strcmp(p->value, "view") == 0)
                return w->is_view = true;
        if (is_first && strcmp(p->value, "init") == 0)
                return w->is_init = true;
        if (is_first)
                r = fleet_question_take(&w->question, "question", p->value, &err);
        else if (w->question.kind == FLEET_SQL && !w->question.sql)
                r = fleet_question_take(&w->question, "sql", p->value, &err);
        else
                r = err_set(&err, -EINVAL, "'%.60s' is one word too many: leave it out", p->value);
        if (r < 0)
                cli_parser_error(p, "%s", err.text);
        return r >= 0;
}

static bool parse(int argc, char **argv, struct fleet_words *w, int *ret_exit_status) {
        struct cli_parser p;
        const char *said = "--from";
        struct server_url url;
        struct err err = {0};
        bool ok = true;
        int id;

        cli_parser_init(&p, &fleet_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_operand(w, &p);
                else
                        ok = take_option(w, (enum fleet_option)id, &p);
        }
        if (ok && (w->question.kind == FLEET_RELEASE || w->question.kind == FLEET_BUILDS) &&
            !w->has_since)
                w->question.since_s = RELEASE_SINCE_S;
        if (ok && !w->is_view && !w->is_init && fleet_question_check(&w->question, &err) < 0) {
                cli_parser_error(&p, "%s", err.text);
                ok = false;
        }
        if (ok && w->is_json && w->is_csv) {
                cli_parser_error(&p, "--json and --csv are two forms: leave one out");
                ok = false;
        }
        if (ok && !w->from) {
                w->from = getenv("SILT_FLEET");
                said = "SILT_FLEET";
        }
        if (ok && (!w->from || !*w->from)) {
                cli_parser_error(
                        &p,
                        "no server given: write --from clickhouse://HOST/silt, or set SILT_FLEET");
                ok = false;
        }
        if (ok && server_url_parse(w->from, &url, &err) < 0) {
                cli_parser_error(&p, "%s: %s", said, err.text);
                ok = false;
        }
        if (ok && w->ca_file)
                ok = cli_check_certificates(&p, w->ca_file);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* Sentences have names in them that others chose. */
static void tell(const char *sentence) {
        struct str clean = {0};

        style_add_clean(&clean, sentence);
        fprintf(stderr, "silt: %s\n", str_text(&clean));
        str_done(&clean);
}

/* Rows on stdout; what limits their figures beside them, and why there are none. */
static void print_csv(struct fleet_answer *a) {
        if (a->n_rows == 0 && a->sentence.n)
                tell(str_text(&a->sentence));
        for (size_t i = 0; i < a->doubts.n; i++)
                tell(a->doubts.items[i]);
        if (a->has_more)
                fprintf(stderr, "silt: there are more rows: --top N shows up to %d\n",
                        FLEET_MAX_ROWS);
        fleet_print_csv(stdout, a);
}

static int answer(const struct fleet_words *w, struct err *reterr) {
        _cleanup_(server_link_freep) struct server_link *server = NULL;
        struct fleet_answer a;
        int r = server_link_new(w->from, w->ca_file, &server, reterr);

        if (r < 0)
                return r;
        server_link_limit(server, (w->max_ns + NS_PER_S - 1) / NS_PER_S, NULL, NULL);
        if (w->is_init)
                return server_link_migrate(server, reterr);
        r = fleet_ask(server, &w->question, &a, reterr);
        if (r >= 0 && w->is_csv)
                print_csv(&a);
        else if (r >= 0 && w->is_json)
                fleet_print_json(stdout, &a);
        else if (r >= 0)
                fleet_print_text(stdout, &a);
        fleet_answer_done(&a);
        return r;
}

static int view(const struct fleet_words *w, struct err *reterr) {
        struct fleet_responder *responder = NULL;
        struct page_serving s = {.command = "fleet",
                                 .what = "what the server knows about your machines",
                                 .fragment = "",
                                 .kind = "fleet",
                                 .no_browser = w->no_browser,
                                 .server = {.port = (uint16_t)w->port}};
        int r = page_serving_check(&s, reterr);

        if (r >= 0)
                r = fleet_responder_new(w->from, w->ca_file, &responder, reterr);
        if (r >= 0) {
                s.server.responder = fleet_responder_table(responder);
                r = page_serve(&s, reterr);
        }
        fleet_responder_free(responder);
        return r;
}

int cmd_fleet(int argc, char **argv) {
        struct fleet_words w = {.question = FLEET_QUESTION_DEFAULT};
        struct err err = {0};
        int exit_status, r;

        if (!parse(argc, argv, &w, &exit_status))
                return exit_status;
        r = w.is_view ? view(&w, &err) : answer(&w, &err);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
