/* SPDX-License-Identifier: MIT */
/* ClickHouse over HTTP: statements in, text out. What it answers is not trusted: bounded, and made one line where it is an error. */
#pragma once

#include "base/bytes.h"
#include "fleet/http_client.h"
#include "fleet/server_url.h"

struct clickhouse_client {
        struct server_url url;
        struct http_client *http;
        uint64_t timeout_ms;          /* of a statement; 0: HTTP_TIMEOUT_MS */
        const char *without_database; /* not NULL: statements are about no database */
        int error_code;               /* its number of the last refusal; 0: it gave none */
};

/* Its numbers of errors that somebody looks at: ClickHouse's ErrorCodes. */
enum {
        CLICKHOUSE_NO_SUCH_COLUMN = 16,
        CLICKHOUSE_WRONG_NUMBER_OF_ARGUMENTS = 42,
        CLICKHOUSE_WRONG_TYPE_OF_ARGUMENT = 43,
        CLICKHOUSE_UNKNOWN_FUNCTION = 46,
        CLICKHOUSE_UNKNOWN_IDENTIFIER = 47,
        CLICKHOUSE_UNKNOWN_TYPE = 50,
        CLICKHOUSE_TYPE_MISMATCH = 53,
        CLICKHOUSE_UNKNOWN_TABLE = 60,
        CLICKHOUSE_SYNTAX_ERROR = 62,
        CLICKHOUSE_UNKNOWN_AGGREGATE_FUNCTION = 63,
        CLICKHOUSE_UNKNOWN_DATABASE = 81,
        CLICKHOUSE_UNKNOWN_SETTING = 115,
        CLICKHOUSE_TIMEOUT_EXCEEDED = 159,
        CLICKHOUSE_UNKNOWN_USER = 192,
        CLICKHOUSE_WRONG_PASSWORD = 193,
        CLICKHOUSE_REQUIRED_PASSWORD = 194,
        CLICKHOUSE_TOO_MANY_QUERIES = 202,
        CLICKHOUSE_NOT_AN_AGGREGATE = 215,
        CLICKHOUSE_MEMORY_LIMIT_EXCEEDED = 241,
        CLICKHOUSE_AUTHENTICATION_FAILED = 516,
};

/* The url is copied; the options are as for http_client_new, but for user and password, which the url has. */
int clickhouse_client_init(struct clickhouse_client *c, const struct server_url *url,
                           const struct http_client_options *o, struct err *reterr);
void clickhouse_client_done(struct clickhouse_client *c);

/* Runs one statement; *answer (NULL: never mind) is what it gave, at most max_answer bytes (0: HTTP_MAX_ANSWER). settings: further
 * parameters, "max_execution_time=10&readonly=1", or NULL.
 * -ENOENT: a table, or the database, is not there; -EBADMSG: it refused the statement or the data, and would again; else: try again. */
int clickhouse_client_ask(struct clickhouse_client *c, const char *sql, const char *settings,
                          size_t max_answer, struct str *answer, struct err *reterr);
/* INSERT INTO table (columns) FORMAT RowBinary. */
int clickhouse_client_insert(struct clickhouse_client *c, const char *table, const char *columns,
                             const bytes_buf *rows, struct err *reterr);

/* `name`, as its SQL wants it. */
void clickhouse_add_name(struct str *to, const char *name);
/* 'text', likewise. */
void clickhouse_add_text(struct str *to, const char *text);
