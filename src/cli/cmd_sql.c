/* SPDX-License-Identifier: MIT */
/* silt sql: reads the command line, opens the traces, and leaves the rest to sql/. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_sql.h"
#include "cli/missing_names.h"
#include "cli/sql_session.h"
#include "cli/sql_shell.h"
#include "cli/sql_traces.h"
#include "cli/sql_words.h"
#include "cli/statement_file.h"
#include "query/trace_times.h"
#include "show/opened.h"
#include "show/style.h"
#include "sql/sql.h"
#include "sql/sql_print.h"

#define DEFAULT_MAX_TIME_NS 600000000000u

static const struct cli_command sql_command = {
        .name = "sql",
        .help_text = sql_help_text,
        .options = sql_option_table,
        .n_options = ARRAY_SIZE(sql_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct sql_words {
        const char *path, *statement, *other_path;
        struct str dot_command; /* with its arguments: the statement, then */
        struct request request;
        enum sql_form form;
        uint64_t max_memory_bytes, max_time_ns;
        bool is_interrupted;
};

static bool take_operand(struct sql_words *w, struct cli_parser *p) {
        if (!w->path)
                w->path = p->value;
        else if (!w->statement)
                w->statement = p->value;
        else if (w->statement[0] == '.') {
                if (!w->dot_command.n)
                        str_add(&w->dot_command, w->statement);
                str_addf(&w->dot_command, " %s", p->value);
                w->statement = str_text(&w->dot_command);
        } else {
                cli_parser_error(p,
                                 "only one statement can be given: leave out '%s', or quote it all",
                                 p->value);
                return false;
        }
        return true;
}

/* False after an error was printed. */
static bool take_word(struct sql_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case SQL_JSON: return sql_take_form(p, SQL_FORM_JSON, &w->form);
        case SQL_CSV: return sql_take_form(p, SQL_FORM_CSV, &w->form);
        case SQL_MAX_MEMORY: return sql_take_max_memory(p, &w->max_memory_bytes);
        case SQL_MAX_TIME: return cli_value_duration(p, &w->max_time_ns);
        case SQL_OTHER: w->other_path = p->value; break;
        case SQL_DEBUG_PATH: return cli_take_debug_path(p);
        case SQL_PROCESS:
        case SQL_COMPONENTS:
        case SQL_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct sql_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &sql_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        if (ok && !w->path) {
                cli_parser_error(&p, "no trace given: write 'silt sql FILE'");
                ok = false;
        }
        if (ok && w->statement && !w->statement[strspn(w->statement, " \t\r\n;")]) {
                cli_parser_error(&p, "no statement given: write one, or none at all for a shell");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        return ok;
}

/* "python3 and 2 more processes ran for 1.66 s; 84,653 allocations, peak 4.3 MiB": as far as it is known. */
static void add_facts(const struct sql_options *o, struct str *to) {
        struct query *q = o->trace.q;
        struct query_scope scope = query_whole(q);
        uint32_t process = o->process == QUERY_ALL ? query_main_process(q) : o->process;
        size_t n_pids = query_n_pids(q),
               n_others = o->process == QUERY_ALL && n_pids ? n_pids - 1 : 0;
        struct unit_text t;
        struct query_answer *a = NULL;
        size_t begin = to->n;

        scope.process = o->process;
        if (query_process_name(q, process)[0])
                query_add_process_name(q, process, to);
        if (to->n > begin && n_others)
                str_addf(to, " and %zu more process%s", n_others, n_others == 1 ? "" : "es");
        if (to->n > begin && query_has_times(q))
                str_addf(to, ", %s", unit_duration(&t, query_view(q)->end_ns));
        if (query_ask(q, &scope, &a, NULL) < 0)
                return;
        if (!a->totals.lacks_events)
                str_addf(to, "%s%s%s allocation%s", to->n > begin ? ", " : "",
                         query_sample_bytes(q) ? "about " : "", unit_count(&t, a->totals.n_allocs),
                         unit_s(a->totals.n_allocs));
        str_addf(to, "%speak %s%s", to->n > begin ? ", " : "",
                 query_sample_bytes(q) ? "about " : "", unit_weight(&t, a->totals.peak_bytes));
        query_answer_free(a);
}

/* What was opened, and where help is. */
static void greet(const struct sql_words *w, const struct sql_options *o) {
        struct str text = {0};
        struct style style;

        str_addf(&text, "%s: ", w->path);
        add_facts(o, &text);
        if (w->other_path)
                str_addf(&text, "; other: %s", w->other_path);
        str_add(&text, ". .tables lists what can be asked, .help the rest.");
        style_init(&style, isatty(STDOUT_FILENO) == 1 ? stdout : stderr);
        style_wrap(&style, str_text(&text), 0);
        str_done(&text);
}

static int answer_with(struct sql_words *w, struct sql_options *o, struct err *reterr) {
        _cleanup_(sql_freep) struct sql *s = NULL;
        _cleanup_free_ char *from_stdin = NULL;
        struct sql_session session;
        bool is_shell = !w->statement && isatty(STDIN_FILENO) == 1;
        int r;

        if ((!w->statement && !is_shell) || (w->statement && strcmp(w->statement, "-") == 0)) {
                r = statement_file_read(STDIN_FILENO, "standard input", &from_stdin, reterr);
                if (r < 0)
                        return r;
                w->statement = from_stdin;
        }
        r = sql_open(o, &s, reterr);
        if (r < 0)
                return r;
        session = (struct sql_session){.sql = s, .out = stdout, .form = w->form};
        if (is_shell) {
                greet(w, o);
                r = sql_shell_run(&session, o->other.q != NULL, reterr);
                sql_session_done(&session);
                return r;
        }
        r = sql_session_run(&session, w->statement, reterr);
        w->is_interrupted = session.is_interrupted;
        return r;
}

static int ask(struct sql_words *w, struct err *reterr) {
        struct sql_traces t;
        int r = sql_traces_open(&t, w->path, w->other_path, &w->request, reterr);

        t.options.max_memory_bytes = w->max_memory_bytes;
        t.options.max_time_ns = w->max_time_ns;
        opened_end_progress(&t.one);
        if (r >= 0)
                r = answer_with(w, &t.options, reterr);
        sql_traces_done(&t);
        return r;
}

int cmd_sql(int argc, char **argv) {
        struct sql_words w = {.request = REQUEST_DEFAULT, .max_time_ns = DEFAULT_MAX_TIME_NS};
        struct err err = {0};
        int exit_status, r;

        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                r = ask(&w, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        request_done(&w.request);
        str_done(&w.dot_command);
        if (w.is_interrupted) { /* a script that runs silt is to stop too */
                signal(SIGINT, SIG_DFL);
                raise(SIGINT);
        }
        return exit_status;
}
