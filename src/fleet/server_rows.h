/* SPDX-License-Identifier: MIT */
/* Rows of a server's answer in ClickHouse's format TabSeparated. They come from outside: anything may be in them, and what is not
 * exactly rows of so many columns is refused.
 *
 *   server_rows_parse(&rows, bytes, n, 3, 1000, &err);
 *   for (size_t i = 0; i < rows.n_rows; i++)
 *           server_rows_uint(&rows, i, 1, &live, &err); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum { SERVER_ROWS_MAX_COLUMNS = 256 };

struct server_rows {
        char *bytes; /* cells, each ended by NUL; a cell that has NULs of its own shows them as '?' */
        size_t n_columns, n_rows;
        VEC(const char *) cells; /* by row */
};

/* n_columns 0: as many as the first row has. More rows than max_rows are refused. The bytes are copied. server_rows_done() in every
 * case. */
int server_rows_parse(struct server_rows *r, const char *bytes, size_t n, size_t n_columns,
                      size_t max_rows, struct err *reterr);
void server_rows_done(struct server_rows *r);

const char *server_rows_text(const struct server_rows *r, size_t row, size_t column);
bool server_rows_is_null(const struct server_rows *r, size_t row, size_t column);
/* What is not such a number is refused, with the column in the words. */
int server_rows_uint(const struct server_rows *r, size_t row, size_t column, uint64_t *ret,
                     struct err *reterr);
int server_rows_double(const struct server_rows *r, size_t row, size_t column, double *ret,
                       struct err *reterr);
