/* SPDX-License-Identifier: MIT */
#include "fleet/server_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* \N, as no text can be it. */
static const char null_cell[] = "\\N";

static int refuse(struct err *reterr, const char *what) {
        return err_set(
                reterr, -EBADMSG,
                "the server's answer is not what was asked: %s: check that the address is ClickHouse's",
                what);
}

/* The character behind a backslash; -1: none has that name. */
static int unescape(char c) {
        switch (c) {
        case 'n': return '\n';
        case 't': return '\t';
        case 'r': return '\r';
        case 'b': return '\b';
        case 'f': return '\f';
        case '0': return '?'; /* texts here end at a NUL */
        case '\\':
        case '\'': return c;
        default: return -1;
        }
}

/* Cuts one cell out of [at, end), which it makes shorter in place. Returns where the next one begins, with the character that ended
 * this one; NULL: it is none. */
static char *cut_cell(char *at, const char *end, char *ret_ended_by) {
        char *to = at;

        for (; at < end && *at != '\t' && *at != '\n'; at++) {
                int c = *at ? *at : '?';

                if (c == '\\') {
                        if (++at == end)
                                return NULL;
                        c = unescape(*at);
                        if (c < 0)
                                return NULL;
                }
                *to++ = (char)c;
        }
        if (at == end)
                return NULL; /* the last row ends with a line's end too */
        *ret_ended_by = *at;
        *to = 0;
        return at + 1;
}

static bool is_null_cell(const char *at, const char *end) {
        return end - at >= 3 && at[0] == '\\' && at[1] == 'N' && (at[2] == '\t' || at[2] == '\n');
}

/* One row, whose cells are added. */
static char *cut_row(struct server_rows *r, char *at, const char *end, struct err *reterr) {
        size_t n_cells = 0;
        char ended_by = '\t';

        while (ended_by == '\t') {
                const char *cell = at;

                if (n_cells == (r->n_columns ? r->n_columns : SERVER_ROWS_MAX_COLUMNS)) {
                        refuse(reterr, "a row has too many columns");
                        return NULL;
                }
                if (is_null_cell(at, end)) {
                        cell = null_cell;
                        ended_by = at[2];
                        at += 3;
                } else
                        at = cut_cell(at, end, &ended_by);
                if (!at) {
                        refuse(reterr, "a row has no end");
                        return NULL;
                }
                vec_push(&r->cells, cell);
                n_cells++;
        }
        if (!r->n_columns)
                r->n_columns = n_cells;
        if (n_cells != r->n_columns) {
                refuse(reterr, "a row lacks columns");
                return NULL;
        }
        r->n_rows++;
        return at;
}

int server_rows_parse(struct server_rows *r, const char *bytes, size_t n, size_t n_columns,
                      size_t max_rows, struct err *reterr) {
        char *at;
        const char *end;

        *r = (struct server_rows){.n_columns = n_columns};
        if (n == 0)
                return 0;
        r->bytes = malloc(n);
        if (!r->bytes)
                return err_set(reterr, -ENOMEM, "no memory for the server's answer");
        memcpy(r->bytes, bytes, n);
        end = r->bytes + n;
        for (at = r->bytes; at < end;) {
                if (r->n_rows == max_rows)
                        return refuse(reterr, "it has more rows than were asked");
                at = cut_row(r, at, end, reterr);
                if (!at)
                        return -EBADMSG;
        }
        return 0;
}

void server_rows_done(struct server_rows *r) {
        free(r->bytes);
        vec_free(&r->cells);
        *r = (struct server_rows){0};
}

const char *server_rows_text(const struct server_rows *r, size_t row, size_t column) {
        return r->cells.items[row * r->n_columns + column];
}

bool server_rows_is_null(const struct server_rows *r, size_t row, size_t column) {
        return server_rows_text(r, row, column) == null_cell;
}

static int refuse_number(size_t column, const char *text, struct err *reterr) {
        return err_set(
                reterr, -EBADMSG,
                "the server's answer is not what was asked: '%.40s' in column %zu is not a number: check that the address is ClickHouse's",
                text, column + 1);
}

int server_rows_uint(const struct server_rows *r, size_t row, size_t column, uint64_t *ret,
                     struct err *reterr) {
        const char *text = server_rows_text(r, row, column);
        char *end;
        unsigned long long v;

        errno = 0;
        v = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno)
                return refuse_number(column, text, reterr);
        *ret = v;
        return 0;
}

/* "nan" and "inf" are ClickHouse's words for what a division by nothing gives. */
int server_rows_double(const struct server_rows *r, size_t row, size_t column, double *ret,
                       struct err *reterr) {
        const char *text = server_rows_text(r, row, column);
        char *end;
        double v;

        if (strlen(text) > 40)
                return refuse_number(column, text, reterr);
        v = strtod(text, &end);
        if (end == text || *end)
                return refuse_number(column, text, reterr);
        *ret = isfinite(v) ? v : 0;
        return 0;
}
