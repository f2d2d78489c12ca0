/* SPDX-License-Identifier: MIT */
#include "sql/path_function.h"

#include <stdio.h>
#include <stdlib.h>

#include "show/stack_text.h"
#include "sql/function.h"
#include "sql/path_text.h"
#include "sql/pattern_cache.h"

enum { ALL_OF_A_LINE = 1 << 20 }; /* cells: nothing is cut */

/* The number of a call path. False: it is NULL or none, which is the answer, or it is an error that was told. */
static bool take_stack(sqlite3_context *to, struct sql_space *space, sqlite3_value *v,
                       uint32_t *ret) {
        int type = sqlite3_value_numeric_type(v);
        int64_t stack;

        if (!function_has_trace(to, space) || type == SQLITE_NULL)
                return false;
        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
                sqlite3_result_error(to, "a call path is a number, as the column stack has it", -1);
                return false;
        }
        stack = sqlite3_value_int64(v);
        if (stack < 0 || (uint64_t)stack >= space->view->n_stacks)
                return false;
        *ret = (uint32_t)stack;
        return true;
}

/* ---- as text ----------------------------------------------------------------------------------- */

/* As reports print it, in lines. */
static char *stack_lines(const struct sql_space *space, uint32_t stack, size_t *ret_n) {
        const struct frame_names names = {space->trace.q, space->trace.names, false};
        char *text = NULL;
        struct style style = {.out = open_memstream(&text, ret_n),
                              .width = ALL_OF_A_LINE,
                              .utf8 = true,
                              .bold = "",
                              .dim = "",
                              .live = "",
                              .rss = "",
                              .alarm = "",
                              .plain = ""};

        if (!style.out)
                abort();
        stack_print(&style, &names, stack, 0, 0);
        if (fclose(style.out) != 0)
                abort();
        while (*ret_n && text[*ret_n - 1] == '\n')
                text[--*ret_n] = '\0';
        return text;
}

void path_call_stack_text(sqlite3_context *to, int n, sqlite3_value **v) {
        struct sql_space *space = sqlite3_user_data(to);
        const char *between = n > 1 ? (const char *)sqlite3_value_text(v[1]) : NULL;
        struct str row = {0};
        size_t n_bytes = 0;
        uint32_t stack;
        char *text;

        if (!take_stack(to, space, v[0], &stack))
                return;
        if (between) {
                path_add(space, stack, between, &row);
                sqlite3_result_text(to, str_text(&row), -1, SQLITE_TRANSIENT);
                str_done(&row);
                return;
        }
        text = stack_lines(space, stack, &n_bytes);
        sqlite3_result_text64(to, text, n_bytes, free, SQLITE_UTF8);
}

/* ---- patterns ---------------------------------------------------------------------------------- */

void path_call_has_frame(sqlite3_context *to, int n, sqlite3_value **v) {
        struct sql_space *space = sqlite3_user_data(to);
        const char *pattern = (const char *)sqlite3_value_text(v[1]);
        struct err err = {0};
        uint32_t stack;
        int r;

        (void)n;
        if (!pattern || !take_stack(to, space, v[0], &stack))
                return;
        r = pattern_cache_has_frame(&space->patterns, space->trace.q, pattern, stack, &err);
        if (r < 0)
                sqlite3_result_error(to, err.text, -1);
        else
                sqlite3_result_int(to, r);
}

/* X REGEXP Y calls regexp(Y, X). */
void path_call_regexp(sqlite3_context *to, int n, sqlite3_value **v) {
        struct sql_space *space = sqlite3_user_data(to);
        const char *pattern = (const char *)sqlite3_value_text(v[0]);
        const char *text = (const char *)sqlite3_value_text(v[1]);
        struct err err = {0};
        int r;

        (void)n;
        if (!pattern || !text)
                return;
        r = pattern_cache_matches(&space->patterns, pattern, text, &err);
        if (r < 0)
                sqlite3_result_error(to, err.text, -1);
        else
                sqlite3_result_int(to, r);
}
