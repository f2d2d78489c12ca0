/* SPDX-License-Identifier: MIT */
/* For tests: what a statement answers, as text. */
#pragma once

#include <string.h>

#include "base/str.h"
#include "sql/sql.h"

/* Rows apart by "\n", values by "|", NULL as "-"; or "error: …". Valid until the next call with the same `to`. */
static inline const char *sql_ask_text(struct sql *s, const char *statement, struct str *to) {
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        struct err err = {0};
        size_t n_rows = 0;
        int r = sql_prepare(s, statement, &rows, NULL, &err);

        str_clear(to);
        while (r >= 0 && rows && (r = sql_next(rows, &err)) > 0) {
                if (n_rows++)
                        str_add(to, "\n");
                for (size_t i = 0; i < sql_n_columns(rows); i++) {
                        struct sql_value v = sql_value(rows, i);

                        if (i)
                                str_add(to, "|");
                        switch (v.kind) {
                        case SQL_NULL: str_add(to, "-"); break;
                        case SQL_INTEGER: str_addf(to, "%lld", (long long)v.integer); break;
                        case SQL_REAL: str_addf(to, "%.15g", v.real); break;
                        case SQL_TEXT:
                        case SQL_BLOB: str_addn(to, v.text, v.n_bytes); break;
                        }
                }
        }
        if (r < 0) {
                str_clear(to);
                str_addf(to, "error: %s", err.text);
        }
        return str_text(to);
}
