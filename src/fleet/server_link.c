/* SPDX-License-Identifier: MIT */
#include "fleet/server_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fleet/clickhouse_client.h"
#include "fleet/migrate.h"

struct server_link {
        struct clickhouse_client client;
        bool (*go_on)(void *ctx);
        void *ctx;
};

static bool is_stopped(void *ctx) {
        const struct server_link *l = ctx;

        return l->go_on && !l->go_on(l->ctx);
}

int server_link_new(const char *url, const char *ca_file, struct server_link **ret,
                    struct err *reterr) {
        struct server_link *l = calloc(1, sizeof(*l));
        struct server_url server;
        int r;

        if (!l)
                abort();
        r = server_url_parse(url, &server, reterr);
        if (r >= 0 && server.kind != SERVER_CLICKHOUSE)
                r = err_set(
                        reterr, -EINVAL,
                        "%s is not ClickHouse, and only ClickHouse can be asked: write clickhouse://HOST",
                        server.shown);
        if (r >= 0)
                r = clickhouse_client_init(&l->client, &server,
                                           &(struct http_client_options){.is_stopped = is_stopped,
                                                                         .ctx = l,
                                                                         .ca_file = ca_file},
                                           reterr);
        if (r < 0) {
                free(l);
                return r;
        }
        server_link_limit(l, SERVER_LINK_USUAL_S, NULL, NULL);
        *ret = l;
        return 0;
}

struct server_link *server_link_free(struct server_link *l) {
        if (!l)
                return NULL;
        clickhouse_client_done(&l->client);
        free(l);
        return NULL;
}

void server_link_limit(struct server_link *l, uint64_t max_s, bool (*go_on)(void *ctx), void *ctx) {
        l->client.timeout_ms = (max_s ? max_s : SERVER_LINK_USUAL_S) * 1000;
        l->go_on = go_on;
        l->ctx = ctx;
}

static void say_missing(struct err *err) {
        struct err why = *err;

        err_set(err, -ENOENT,
                "%.300s: push something first, make the tables with 'silt fleet init', or check the database in the address",
                why.text);
}

/* What to do about a question that the server refused. */
static const char *advice_of_code(int code, bool is_own) {
        switch (code) {
        case 0: return NULL; /* not as ClickHouse does: that is said */
        case CLICKHOUSE_MEMORY_LIMIT_EXCEEDED:
        case CLICKHOUSE_TIMEOUT_EXCEEDED:
                return is_own ? "ask about less, such as fewer days"
                              : "ask about less (--service, --since)";
        case CLICKHOUSE_TOO_MANY_QUERIES: return "ask again when it has less to do";
        case CLICKHOUSE_NO_SUCH_COLUMN:
        case CLICKHOUSE_WRONG_NUMBER_OF_ARGUMENTS:
        case CLICKHOUSE_WRONG_TYPE_OF_ARGUMENT:
        case CLICKHOUSE_UNKNOWN_FUNCTION:
        case CLICKHOUSE_UNKNOWN_IDENTIFIER:
        case CLICKHOUSE_UNKNOWN_TYPE:
        case CLICKHOUSE_TYPE_MISMATCH:
        case CLICKHOUSE_SYNTAX_ERROR:
        case CLICKHOUSE_UNKNOWN_AGGREGATE_FUNCTION:
        case CLICKHOUSE_UNKNOWN_SETTING:
        case CLICKHOUSE_NOT_AN_AGGREGATE:
                if (is_own)
                        return "correct the statement; docs/fleet.md has the tables";
                break;
        default: break;
        }
        return is_own ? NULL : "check that it is ClickHouse 18.16 or newer, and see its log";
}

/* What to do about a question that was not answered; where the error does not say it itself. */
static const char *advice_for(int r, int code, bool is_own) {
        switch (r) {
        case -ECONNREFUSED:
                return "look whether the server runs, and give the port of its HTTP interface, usually 8123";
        case -EHOSTUNREACH: return "check the name of the host in the address";
        case -ETIMEDOUT:
                return "ask about less (--service, --since), or wait longer (--max-time 5m)";
        case -EKEYREJECTED:
                return "trust its certificate by --ca FILE, and write the host as it is named there";
        case -EREMOTEIO: return "give the port of ClickHouse's HTTP interface, usually 8123";
        case -EMSGSIZE:
                return is_own ? "ask for fewer rows, by LIMIT" : "ask for fewer rows (--top)";
        case -ECONNRESET: return "ask again, and see the log of the server";
        case -EBADMSG: return advice_of_code(code, is_own);
        default: return NULL;
        }
}

static int advise(int r, int code, bool is_own, struct err *reterr) {
        const char *advice = advice_for(r, code, is_own);
        struct err why;

        if (!advice || !reterr || reterr->code != r)
                return r;
        why = *reterr;
        return err_set(reterr, r, "%.350s: %s", why.text, advice);
}

/* An error that comes late is one, and not the end of the rows, if the server waits with its answer until it has all of it. */
static int ask(struct server_link *l, const char *sql, const char *settings, size_t n_columns,
               size_t max_rows, bool is_own, struct server_rows *ret, struct err *reterr) {
        struct str answer = {0};
        int r;

        *ret = (struct server_rows){0};
        r = clickhouse_client_ask(&l->client, sql, settings, SERVER_LINK_MAX_BYTES, &answer,
                                  reterr);
        if (r == -ENOENT)
                say_missing(reterr);
        else if (r < 0)
                advise(r, l->client.error_code, is_own, reterr);
        if (r >= 0)
                r = server_rows_parse(ret, str_text(&answer), answer.n, n_columns, max_rows,
                                      reterr);
        str_done(&answer);
        return r;
}

int server_link_ask(struct server_link *l, const char *sql, size_t n_columns, size_t max_rows,
                    struct server_rows *ret, struct err *reterr) {
        return ask(l, sql, "wait_end_of_query=1", n_columns, max_rows, false, ret, reterr);
}

int server_link_migrate(struct server_link *l, struct err *reterr) {
        return fleet_migrate(&l->client, reterr);
}

/* A user who may only read anyway may not say so either. */
int server_link_ask_own(struct server_link *l, const char *sql, size_t max_rows,
                        struct server_rows *ret, struct err *reterr) {
        static const char settings[] =
                "wait_end_of_query=1&default_format=TabSeparatedWithNames&readonly=2";
        static const char bare[] = "wait_end_of_query=1&default_format=TabSeparatedWithNames";
        struct err why = {0};
        int r = ask(l, sql, settings, 0, max_rows, true, ret, &why);

        if (r < 0 && strstr(why.text, "setting in readonly mode"))
                return ask(l, sql, bare, 0, max_rows, true, ret, reterr);
        if (r < 0)
                return err_set(reterr, r, "%s", why.text);
        return r;
}
