/* SPDX-License-Identifier: MIT */
#include "fleet/clickhouse_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/gzip.h"

enum {
        CLICKHOUSE_SHOWN_BYTES = 200, /* of an answer that says what is wrong */
};

int clickhouse_client_init(struct clickhouse_client *c, const struct server_url *url,
                           const struct http_client_options *o, struct err *reterr) {
        struct http_client_options with = *o;

        *c = (struct clickhouse_client){.url = *url};
        if (url->user[0]) {
                with.user = c->url.user;
                with.password = c->url.password;
        }
        return http_client_new(&with, &c->http, reterr);
}

void clickhouse_client_done(struct clickhouse_client *c) {
        c->http = http_client_free(c->http);
}

/* ---- text of its SQL ----------------------------------------------------------------------------- */

static void add_quoted(struct str *to, const char *text, char quote) {
        str_addn(to, &quote, 1);
        for (; *text; text++)
                str_addf(to, "%s%c", *text == quote || *text == '\\' ? "\\" : "", *text);
        str_addn(to, &quote, 1);
}

void clickhouse_add_name(struct str *to, const char *name) {
        add_quoted(to, name, '`');
}

void clickhouse_add_text(struct str *to, const char *text) {
        add_quoted(to, text, '\'');
}

static void add_parameter(struct str *to, const char *name, const char *value) {
        char last = to->bytes[to->n - 1];

        str_addf(to, "%s%s=", last == '?' || last == '&' ? "" : "&", name);
        for (; *value; value++)
                if ((*value >= 'a' && *value <= 'z') || (*value >= 'A' && *value <= 'Z') ||
                    (*value >= '0' && *value <= '9') || strchr("-_.", *value))
                        str_addn(to, value, 1);
                else
                        str_addf(to, "%%%02X", (unsigned char)*value);
}

/* ---- asking -------------------------------------------------------------------------------------- */

/* "Code: 60. DB::Exception: …", "Code: 60, e.displayText() = …"; 0: it does not say. */
static int error_code(const char *answer) {
        const char *at = strstr(answer, "Code: ");

        return at ? atoi(at + strlen("Code: ")) : 0;
}

static bool is_access(int status, int code) {
        return status == 401 || status == 403 || status == 407 || code == CLICKHOUSE_UNKNOWN_USER ||
               code == CLICKHOUSE_WRONG_PASSWORD || code == CLICKHOUSE_REQUIRED_PASSWORD ||
               code == CLICKHOUSE_AUTHENTICATION_FAILED;
}

static int say_refusal(struct clickhouse_client *c, int status, struct str *answer,
                       struct err *reterr) {
        const char *text = str_text(answer), *from = strstr(text, "DB::Exception: "), *end;
        size_t n;
        int code = error_code(text);
        int result = code == CLICKHOUSE_UNKNOWN_TABLE || code == CLICKHOUSE_UNKNOWN_DATABASE
                             ? -ENOENT
                     : code || (status >= 400 && status < 500) ? -EBADMSG
                                                               : -EIO;

        c->error_code = code;
        if (status >= 300 && status < 400)
                return err_set(reterr, -EIO, "%s sends on to another address (%d): give that one",
                               c->url.shown, status);
        if (is_access(status, code))
                return err_set(
                        reterr, -EACCES,
                        "%s does not accept the user or password (%d): give them in the address, clickhouse://USER:PASSWORD@HOST",
                        c->url.shown, status);
        if (!code)
                return err_set(
                        reterr, result,
                        "%s answers %d, and not as ClickHouse does: give the port of its HTTP interface, usually 8123",
                        c->url.shown, status);
        from = from ? from + strlen("DB::Exception: ") : text;
        end = strstr(from, ", e.what()"); /* which says what it is, once more */
        n = MIN(end ? (size_t)(end - from) : strlen(from), strcspn(from, "\n"));
        return err_set(reterr, result, "%s: %.*s", c->url.shown,
                       (int)MIN(n, (size_t)CLICKHOUSE_SHOWN_BYTES), from);
}

static void add_address(const struct clickhouse_client *c, const char *settings, struct str *to) {
        str_addf(to, "%s?", c->url.address);
        if (!c->without_database)
                add_parameter(to, "database", c->url.database);
        if (c->url.settings[0])
                str_addf(to, "&%s", c->url.settings);
        if (settings && settings[0])
                str_addf(to, "&%s", settings);
}

int clickhouse_client_ask(struct clickhouse_client *c, const char *sql, const char *settings,
                          size_t max_answer, struct str *answer, struct err *reterr) {
        struct str url = {0}, own = {0};
        struct str *to = answer ? answer : &own;
        struct http_request q = {.shown = c->url.shown,
                                 .content_type = "text/plain; charset=utf-8",
                                 .body = sql,
                                 .n_body = strlen(sql),
                                 .timeout_ms = c->timeout_ms,
                                 .max_answer = max_answer};
        int r;

        c->error_code = 0;
        add_address(c, settings, &url);
        q.url = str_text(&url);
        r = http_client_post(c->http, &q, to, reterr);
        if (r >= 0)
                r = r == 200 ? 0 : say_refusal(c, r, to, reterr);
        str_done(&url);
        str_done(&own);
        return r;
}

int clickhouse_client_insert(struct clickhouse_client *c, const char *table, const char *columns,
                             const bytes_buf *rows, struct err *reterr) {
        struct str url = {0}, sql = {0}, answer = {0};
        bytes_buf packed = {0};
        struct http_request q = {.shown = c->url.shown,
                                 .content_type = "application/octet-stream",
                                 .is_gzip = true};
        int r;

        gzip_pack(rows->items, rows->n, &packed);
        str_addf(&sql, "INSERT INTO %s (%s) FORMAT RowBinary", table, columns);
        add_address(c, NULL, &url);
        add_parameter(&url, "query", str_text(&sql));
        q.url = str_text(&url);
        q.body = packed.items;
        q.n_body = packed.n;
        r = http_client_post(c->http, &q, &answer, reterr);
        if (r >= 0)
                r = r == 200 && answer.n == 0 ? 0
                    : r == 200                ? err_set(reterr, -EIO,
                                                        "%s answers an insert with text: it is not ClickHouse",
                                                        c->url.shown)
                                              : say_refusal(c, r, &answer, reterr);
        vec_free(&packed);
        str_done(&url);
        str_done(&sql);
        str_done(&answer);
        return r;
}
