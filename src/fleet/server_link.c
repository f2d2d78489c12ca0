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

int server_link_new(const char *url, struct server_link **ret, struct err *reterr) {
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
                                                                         .ctx = l},
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

/* An error that comes late is one, and not the end of the rows, if the server waits with its answer until it has all of it. */
static int ask(struct server_link *l, const char *sql, const char *settings, size_t n_columns,
               size_t max_rows, struct server_rows *ret, struct err *reterr) {
        struct str answer = {0};
        int r;

        *ret = (struct server_rows){0};
        r = clickhouse_client_ask(&l->client, sql, settings, SERVER_LINK_MAX_BYTES, &answer,
                                  reterr);
        if (r == -ENOENT)
                say_missing(reterr);
        if (r >= 0)
                r = server_rows_parse(ret, str_text(&answer), answer.n, n_columns, max_rows,
                                      reterr);
        str_done(&answer);
        return r;
}

int server_link_ask(struct server_link *l, const char *sql, size_t n_columns, size_t max_rows,
                    struct server_rows *ret, struct err *reterr) {
        return ask(l, sql, "wait_end_of_query=1", n_columns, max_rows, ret, reterr);
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
        int r = ask(l, sql, settings, 0, max_rows, ret, &why);

        if (r < 0 && strstr(why.text, "setting in readonly mode"))
                return ask(l, sql, bare, 0, max_rows, ret, reterr);
        if (r < 0)
                return err_set(reterr, r, "%s", why.text);
        return r;
}
