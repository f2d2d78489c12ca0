/* SPDX-License-Identifier: MIT */
/* Questions to ClickHouse over HTTP. The server may answer anything, or not at all: answers are bounded in bytes, rows and time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "fleet/server_rows.h"

enum {
        SERVER_LINK_MAX_BYTES = 64 << 20, /* of an answer */
        SERVER_LINK_USUAL_S = 60,
};

struct server_link;

/* As server_url.h has them; nothing is asked yet. ca_file: certificates that are trusted, which must live as long; NULL: the system's. */
int server_link_new(const char *url, const char *ca_file, struct server_link **ret,
                    struct err *reterr);
struct server_link *server_link_free(struct server_link *l); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct server_link, server_link_free)

/* For the questions to come: 0: the usual time; false from `go_on` ends one with -ECANCELED. */
void server_link_limit(struct server_link *l, uint64_t max_s, bool (*go_on)(void *ctx), void *ctx);

/* The rows of a SELECT. server_rows_done() in every case. */
int server_link_ask(struct server_link *l, const char *sql, size_t n_columns, size_t max_rows,
                    struct server_rows *ret, struct err *reterr);

/* Gives the server the tables of this silt, where it lacks them. */
int server_link_migrate(struct server_link *l, struct err *reterr);

/* A statement of the user's own, which may only read; the first row are names of columns. */
int server_link_ask_own(struct server_link *l, const char *sql, size_t max_rows,
                        struct server_rows *ret, struct err *reterr);
