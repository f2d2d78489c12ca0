/* SPDX-License-Identifier: MIT */
#include "sql/format_function.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "sql/sql.h"

enum { FORMAT_MAX_ARGUMENTS = 50 }; /* as many as guard.c allows */

/* A database of nothing, whose printf is SQLite's: a function that has another one's name cannot call that. */
struct formatter {
        sqlite3 *db;
        sqlite3_stmt
                *of_count[FORMAT_MAX_ARGUMENTS + 1]; /* by the number of arguments; NULL: not yet */
};

static void formatter_free(void *ctx) {
        struct formatter *f = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(f->of_count); i++)
                sqlite3_finalize(f->of_count[i]);
        sqlite3_close(f->db);
        free(f);
}

static int formatter_open(struct formatter *f) {
        int r = sqlite3_open_v2(":memory:", &f->db,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                NULL);

        if (r == SQLITE_OK)
                sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, SQL_MAX_TEXT_BYTES);
        return r;
}

static int formatter_prepare(struct formatter *f, int n) {
        struct str text = {0};
        int r = f->db ? SQLITE_OK : formatter_open(f);

        if (r == SQLITE_OK && !f->of_count[n]) {
                str_add(&text, "SELECT printf(");
                for (int i = 0; i < n; i++)
                        str_add(&text, i ? ",?" : "?");
                str_add(&text, ")");
                r = sqlite3_prepare_v2(f->db, str_text(&text), -1, &f->of_count[n], NULL);
                str_done(&text);
        }
        return r;
}

static void call_format(sqlite3_context *to, int n, sqlite3_value **v) {
        struct formatter *f = sqlite3_user_data(to);
        sqlite3_stmt *x;
        int r;

        if (n == 0 || n > FORMAT_MAX_ARGUMENTS || sqlite3_value_bytes(v[0]) == 0)
                return;
        r = formatter_prepare(f, n);
        if (r != SQLITE_OK) {
                sqlite3_result_error_code(to, r);
                return;
        }
        x = f->of_count[n];
        for (int i = 0; i < n && r == SQLITE_OK; i++)
                r = sqlite3_bind_value(x, i + 1, v[i]);
        if (r == SQLITE_OK)
                r = sqlite3_step(x);
        if (r != SQLITE_ROW)
                sqlite3_result_error_code(to, r);
        else if (sqlite3_column_type(x, 0) == SQLITE_NULL)
                sqlite3_result_error_toobig(to);
        else
                sqlite3_result_value(to, sqlite3_column_value(x, 0));
        sqlite3_reset(x);
        sqlite3_clear_bindings(x);
}

int format_function_create_all(struct sqlite3 *db, struct err *reterr) {
        static const char *const names[] = {"printf", "format"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                struct formatter *f = calloc(1, sizeof(*f));

                if (!f)
                        abort();
                /* which frees it, also where it fails */
                if (sqlite3_create_function_v2(db, names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                               f, call_format, NULL, NULL,
                                               formatter_free) != SQLITE_OK)
                        return err_set(reterr, -EINVAL, "%s: %s", names[i], sqlite3_errmsg(db));
        }
        return 0;
}
