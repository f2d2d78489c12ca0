/* SPDX-License-Identifier: MIT */
#include "sql/function.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/macros.h"
#include "base/units.h"
#include "query/trace_times.h"
#include "query/used_allocator.h"
#include "resident/block_room.h"
#include "sql/aggregate.h"
#include "sql/path_function.h"
#include "sql/table.h"

enum { BAR_MOST_CELLS = 1000 };

bool function_has_trace(sqlite3_context *to, const struct sql_space *space) {
        if (!space->trace.q)
                sqlite3_result_error(to, "there is no second trace: --other FILE gives one", -1);
        return space->trace.q;
}

/* ---- numbers as people read them ---------------------------------------------------------------- */

/* False: it is NULL or no number, and so is the answer. */
static bool take_number(sqlite3_value *v, bool *ret_is_negative, uint64_t *ret) {
        int type = sqlite3_value_numeric_type(v);
        int64_t n;

        if (type == SQLITE_FLOAT) {
                double x = sqlite3_value_double(v);

                *ret = unit_nearest(fabs(x));
                *ret_is_negative = x < 0 && *ret;
                return true;
        }
        if (type != SQLITE_INTEGER)
                return false;
        n = sqlite3_value_int64(v);
        *ret_is_negative = n < 0;
        *ret = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
        return true;
}

/* NULL: a moment or a length of time, by the clock of the first trace. */
static void result_number(sqlite3_context *to, sqlite3_value *v,
                          const char *(*text_of)(struct unit_text *, uint64_t)) {
        const struct sql_space *space = sqlite3_user_data(to);
        struct unit_text t;
        char text[sizeof(t) + 2];
        bool is_negative;
        uint64_t n;

        if (!take_number(v, &is_negative, &n))
                return;
        snprintf(text, sizeof(text), "%s%s", is_negative ? "-" : "",
                 text_of ? text_of(&t, n) : query_moment_text(space->trace.q, &t, n));
        sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

/* As reports show figures: those of an imported profile may be samples. */
static void call_bytes(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        result_number(to, v[0], unit_weight);
}

static void call_duration(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        result_number(to, v[0], NULL);
}

static void call_count_text(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        result_number(to, v[0], unit_count);
}

/* ---- times -------------------------------------------------------------------------------------- */

static void call_at(sqlite3_context *to, int n, sqlite3_value **v) {
        struct sql_space *space = sqlite3_user_data(to);
        struct err err = {0};
        uint64_t ns;

        (void)n;
        if (sqlite3_value_type(v[0]) == SQLITE_NULL || !function_has_trace(to, space))
                return;
        if (space_time(space, v[0], 0, &ns, &err) < 0)
                sqlite3_result_error(to, err.text, -1);
        else
                sql_result_count(to, ns);
}

/* ---- classes ------------------------------------------------------------------------------------ */

static void result_class(sqlite3_context *to, sqlite3_value *v,
                         void (*class_of)(uint64_t, uint64_t *, uint64_t *)) {
        bool is_negative;
        uint64_t n, low, high;

        if (!take_number(v, &is_negative, &n) || is_negative)
                return;
        class_of(n, &low, &high);
        sql_result_count(to, low);
}

static void call_size_class(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        result_class(to, v[0], query_size_class);
}

static void call_lifetime_class(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        result_class(to, v[0], query_lifetime_class);
}

/* ---- allocators --------------------------------------------------------------------------------- */

static void call_allocator(sqlite3_context *to, int n, sqlite3_value **v) {
        const struct sql_space *space = sqlite3_user_data(to);
        int64_t process = sqlite3_value_int64(v[0]);

        (void)n;
        if (sqlite3_value_numeric_type(v[0]) == SQLITE_INTEGER && function_has_trace(to, space) &&
            process >= 0 && (uint64_t)process < space->view->n_processes)
                sql_result_name(to, used_allocator(space->view, (uint32_t)process, NULL));
}

/* A block of glibc's that may be a mapping of its own is taken for one. */
static void call_block_room(sqlite3_context *to, int n, sqlite3_value **v) {
        enum { MAPPED_ADDRESS = 16, PAGE_BYTES = 4096 };
        const struct sql_space *space = sqlite3_user_data(to);
        const char *allocator = (const char *)sqlite3_value_text(v[1]);
        uint64_t bytes, page_bytes = space->view->meta.page_bytes;
        enum size_model model;
        bool is_negative;

        (void)n;
        if (!allocator || !take_number(v[0], &is_negative, &bytes) || is_negative)
                return;
        model = size_model_of(allocator);
        if (model == SIZE_UNKNOWN)
                sqlite3_result_error(
                        to,
                        "block_room(BYTES, ALLOCATOR): ALLOCATOR is 'glibc', 'jemalloc', 'mimalloc' or 'tcmalloc'",
                        -1);
        else
                sql_result_count(to, size_room_of(model, MAPPED_ADDRESS, bytes,
                                                  page_bytes ? page_bytes : PAGE_BYTES)
                                             .room_bytes);
}

/* ---- bars --------------------------------------------------------------------------------------- */

void function_add_bar(struct str *to, double part, size_t cells) {
        static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
        size_t n;

        if (!(part > 0) || cells == 0)
                return;
        n = MAX((size_t)(fmin(part, 1) * (double)cells * 8 + 0.5), (size_t)1);
        for (size_t i = 0; i < n / 8; i++)
                str_add(to, "█");
        str_add(to, eighths[n % 8]);
}

static void call_bar(sqlite3_context *to, int n, sqlite3_value **v) {
        double x = sqlite3_value_double(v[0]), most = sqlite3_value_double(v[1]);
        double cells = n > 2 ? sqlite3_value_double(v[2]) : 20;
        struct str text = {0};

        for (int i = 0; i < n; i++) {
                int type = sqlite3_value_numeric_type(v[i]);

                if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
                        return;
        }
        if (!(cells >= 0 && cells <= BAR_MOST_CELLS)) {
                sqlite3_result_error(to, "bar(X, MOST, CELLS): CELLS is a number from 0 to 1000",
                                     -1);
                return;
        }
        function_add_bar(&text, most > 0 ? x / most : 0, (size_t)cells);
        sqlite3_result_text(to, str_text(&text), -1, SQLITE_TRANSIENT);
        str_done(&text);
}

/* ---- all ---------------------------------------------------------------------------------------- */

typedef void (*call_fn)(sqlite3_context *, int, sqlite3_value **);

static const struct sql_function_info infos[] = {
        {"at", "at(TIME)", "nanoseconds of '5s', '@peak', '@NAME'"},
        {"bytes", "bytes(N)", "a number of bytes as people read it: 12.3 MiB"},
        {"duration", "duration(NS)", "nanoseconds as people read them: 1.25 s"},
        {"count_text", "count_text(N)", "a number with commas: 1,234,567"},
        {"stack_text", "stack_text(STACK), stack_text(STACK, BETWEEN)",
         "a call path as lines, or in one line with BETWEEN between the functions"},
        {"has_frame", "has_frame(STACK, PATTERN)",
         "whether a function of the call path matches the regular expression"},
        {"regexp", "X REGEXP PATTERN", "whether the regular expression is found in a text"},
        {"size_class", "size_class(BYTES)", "the least size of the class it belongs to"},
        {"lifetime_class", "lifetime_class(NS)", "the least lifetime of the class it belongs to"},
        {"allocator", "allocator(PROCESS)",
         "which allocator the process requested most of its memory from; NULL: nobody knows"},
        {"block_room", "block_room(BYTES, ALLOCATOR)",
         "bytes that glibc, jemalloc, mimalloc or tcmalloc sets aside for a block"},
        {"percentile", "percentile(X, P), percentile(X, P, WEIGHT)",
         "of a group: P from 0 to 100; between two rows in proportion. A row counts WEIGHT times, "
         "such as stands_for"},
        {"median", "median(X), median(X, WEIGHT)", "of a group: percentile(X, 50)"},
        {"stddev", "stddev(X), stddev(X, WEIGHT)",
         "of a group: the standard deviation of a sample (n - 1)"},
        {"histogram",
         "histogram(X), histogram(X, 'bytes'), histogram(X, 'ns'), histogram(X, 'ns', WEIGHT)",
         "of a group: how many rows from each power of two on, with bars"},
        {"bar", "bar(X, MOST), bar(X, MOST, CELLS)", "a bar as wide as X of MOST; 20 cells"},
        {"other_at", "other_at(TIME)", "at() of the second trace"},
        {"other_stack_text", "other_stack_text(STACK), other_stack_text(STACK, BETWEEN)",
         "stack_text() of a call path of the second trace"},
        {"other_has_frame", "other_has_frame(STACK, PATTERN)",
         "has_frame() of a call path of the second trace"},
};

/* One for each of them, in the same order. */
static const struct {
        int min_args, max_args;
        call_fn call, step;
        void (*final)(sqlite3_context *);
        bool is_of_other;
} calls[] = {
        {1, 1, call_at, NULL, NULL, false},
        {1, 1, call_bytes, NULL, NULL, false},
        {1, 1, call_duration, NULL, NULL, false},
        {1, 1, call_count_text, NULL, NULL, false},
        {1, 2, path_call_stack_text, NULL, NULL, false},
        {2, 2, path_call_has_frame, NULL, NULL, false},
        {2, 2, path_call_regexp, NULL, NULL, false},
        {1, 1, call_size_class, NULL, NULL, false},
        {1, 1, call_lifetime_class, NULL, NULL, false},
        {1, 1, call_allocator, NULL, NULL, false},
        {2, 2, call_block_room, NULL, NULL, false},
        {2, 3, NULL, aggregate_step_percentile, aggregate_final_percentile, false},
        {1, 2, NULL, aggregate_step_median, aggregate_final_percentile, false},
        {1, 2, NULL, aggregate_step_stddev, aggregate_final_stddev, false},
        {1, 3, NULL, aggregate_step_histogram, aggregate_final_histogram, false},
        {2, 3, call_bar, NULL, NULL, false},
        {1, 1, call_at, NULL, NULL, true},
        {1, 2, path_call_stack_text, NULL, NULL, true},
        {2, 2, path_call_has_frame, NULL, NULL, true},
};
_Static_assert(ARRAY_SIZE(calls) == ARRAY_SIZE(infos), "each function is told");

const struct sql_function_info *sql_functions(size_t *ret_n) {
        *ret_n = ARRAY_SIZE(infos);
        return infos;
}

int function_create_all(sqlite3 *db, struct sql_space *space, struct sql_space *other,
                        struct err *reterr) {
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                for (int n = calls[i].min_args; n <= calls[i].max_args; n++)
                        if (sqlite3_create_function(db, infos[i].name, n,
                                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                                    calls[i].is_of_other ? other : space,
                                                    calls[i].call, calls[i].step,
                                                    calls[i].final) != SQLITE_OK)
                                return err_set(reterr, -EINVAL, "%s: %s", infos[i].name,
                                               sqlite3_errmsg(db));
        return 0;
}
