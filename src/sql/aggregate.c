/* SPDX-License-Identifier: MIT */
#include "sql/aggregate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "sql/function.h"
#include "sql/value_tally.h"

/* False: it is NULL, which does not count, or no number, which is an error that was told. */
static bool take_number(sqlite3_context *to, const char *function, sqlite3_value *v, double *ret,
                        bool *ret_is_whole) {
        int type = sqlite3_value_numeric_type(v);
        char text[100];

        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
                *ret = sqlite3_value_double(v);
                *ret_is_whole = type == SQLITE_INTEGER;
                return true;
        }
        if (type != SQLITE_NULL) {
                sqlite3_snprintf(sizeof(text), text, "%s is of numbers, not of texts", function);
                sqlite3_result_error(to, text, -1);
        }
        return false;
}

/* How often the value counts: as often as WEIGHT says, once where there is none. False: not at all, or it is no number of times, which
 * is an error that was told. */
static bool take_weight(sqlite3_context *to, sqlite3_value *v, uint64_t *ret) {
        int64_t n;

        *ret = 1;
        if (!v)
                return true;
        if (sqlite3_value_type(v) == SQLITE_NULL)
                return false;
        n = sqlite3_value_int64(v);
        if (sqlite3_value_numeric_type(v) != SQLITE_INTEGER || n < 0 || n > TALLY_MAX_TIMES) {
                sqlite3_result_error(
                        to,
                        "WEIGHT is how often a row counts, as 'stands_for': a whole number from 0 on",
                        -1);
                return false;
        }
        *ret = (uint64_t)n;
        return n > 0;
}

/* ---- percentile, median ------------------------------------------------------------------------ */

struct percentile {
        struct value_tally values;
        double part; /* from 0 to 1 */
        bool has_part, has_real, is_wrong;
};

static void percentile_add(sqlite3_context *to, struct percentile *p, const char *function,
                           sqlite3_value *v, sqlite3_value *weight) {
        uint64_t n_times;
        bool is_whole;
        double x;

        if (p->is_wrong || !take_number(to, function, v, &x, &is_whole) ||
            !take_weight(to, weight, &n_times))
                return;
        p->has_real |= !is_whole;
        if (!value_tally_add(&p->values, x, n_times)) {
                p->is_wrong = true;
                sqlite3_result_error_nomem(to);
        }
}

void aggregate_step_percentile(sqlite3_context *to, int n, sqlite3_value **v) {
        struct percentile *p = sqlite3_aggregate_context(to, sizeof(*p));
        int type = sqlite3_value_numeric_type(v[1]);
        double pct = sqlite3_value_double(v[1]);

        if (!p) {
                sqlite3_result_error_nomem(to);
                return;
        }
        if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(pct >= 0 && pct <= 100) ||
            (p->has_part && p->part != pct / 100)) {
                p->is_wrong = true;
                sqlite3_result_error(
                        to, "percentile(X, P): P is a number from 0 to 100, the same for all rows",
                        -1);
                return;
        }
        p->part = pct / 100;
        p->has_part = true;
        percentile_add(to, p, "percentile", v[0], n > 2 ? v[2] : NULL);
}

void aggregate_step_median(sqlite3_context *to, int n, sqlite3_value **v) {
        struct percentile *p = sqlite3_aggregate_context(to, sizeof(*p));

        if (!p) {
                sqlite3_result_error_nomem(to);
                return;
        }
        p->part = 0.5;
        percentile_add(to, p, "median", v[0], n > 1 ? v[1] : NULL);
}

void aggregate_final_percentile(sqlite3_context *to) {
        struct percentile *p = sqlite3_aggregate_context(to, 0);
        double x;

        if (!p)
                return;
        if (p->values.n && !p->is_wrong) {
                x = value_tally_at(&p->values, p->part);
                if (!p->has_real && x == floor(x) && fabs(x) < 0x1p53)
                        sqlite3_result_int64(to, (int64_t)x);
                else
                        sqlite3_result_double(to, x);
        }
        value_tally_done(&p->values);
}

/* ---- stddev ------------------------------------------------------------------------------------ */

struct spread {
        uint64_t n;
        double mean, squares; /* of the distances from the mean */
};

void aggregate_step_stddev(sqlite3_context *to, int n, sqlite3_value **v) {
        struct spread *s = sqlite3_aggregate_context(to, sizeof(*s));
        double x, step;
        uint64_t n_times;
        bool is_whole;

        if (!s) {
                sqlite3_result_error_nomem(to);
                return;
        }
        if (!take_number(to, "stddev", v[0], &x, &is_whole) ||
            !take_weight(to, n > 1 ? v[1] : NULL, &n_times))
                return;
        s->n += n_times;
        step = x - s->mean;
        s->mean += step * (double)n_times / (double)s->n;
        s->squares += (double)n_times * step * (x - s->mean);
}

void aggregate_final_stddev(sqlite3_context *to) {
        const struct spread *s = sqlite3_aggregate_context(to, 0);

        if (s && s->n > 1)
                sqlite3_result_double(to, sqrt(s->squares / (double)(s->n - 1)));
}

/* ---- histogram --------------------------------------------------------------------------------- */

/* Below 0, below 1, then from 2^k to below 2^(k + 1). */
enum { BELOW_0, BELOW_1, FIRST_POWER, N_BINS = FIRST_POWER + 64, BAR_CELLS = 40 };

struct powers {
        uint64_t counts[N_BINS];
        enum powers_unit { UNIT_NONE, UNIT_SIZE, UNIT_TIME } unit;
};

static bool take_unit(sqlite3_context *to, sqlite3_value *v, enum powers_unit *ret) {
        const char *name = (const char *)sqlite3_value_text(v);

        if (name && !name[0])
                *ret = UNIT_NONE;
        else if (name && strcmp(name, "bytes") == 0)
                *ret = UNIT_SIZE;
        else if (name && strcmp(name, "ns") == 0)
                *ret = UNIT_TIME;
        else {
                sqlite3_result_error(to, "histogram(X, UNIT): UNIT is 'bytes', 'ns' or ''", -1);
                return false;
        }
        return true;
}

void aggregate_step_histogram(sqlite3_context *to, int n, sqlite3_value **v) {
        struct powers *p = sqlite3_aggregate_context(to, sizeof(*p));
        uint64_t n_times;
        bool is_whole;
        double x;

        if (!p) {
                sqlite3_result_error_nomem(to);
                return;
        }
        if ((n > 1 && !take_unit(to, v[1], &p->unit)) ||
            !take_number(to, "histogram", v[0], &x, &is_whole) ||
            !take_weight(to, n > 2 ? v[2] : NULL, &n_times))
                return;
        if (x < 1)
                p->counts[x < 0 ? BELOW_0 : BELOW_1] += n_times;
        else
                p->counts[FIRST_POWER + (isinf(x) ? 63 : MIN(ilogb(x), 63))] += n_times;
}

/* Where the bin begins. */
static const char *bin_label(const struct powers *p, size_t bin, struct unit_text *t) {
        uint64_t edge = bin >= FIRST_POWER ? 1ull << (bin - FIRST_POWER) : 0;

        if (bin == BELOW_0)
                return "below 0";
        switch (p->unit) {
        case UNIT_SIZE: return unit_bytes(t, edge);
        case UNIT_TIME: return unit_duration(t, edge);
        case UNIT_NONE: break;
        }
        return unit_count(t, edge);
}

static void pad_left(struct str *to, const char *text, size_t width) {
        size_t have = str_width(text);

        str_pad(to, ' ', width - MIN(width, have));
        str_add(to, text);
}

static void add_bins(struct str *to, const struct powers *p, size_t first, size_t last) {
        size_t edge_width = 0, count_width = 0;
        struct unit_text t;
        uint64_t most = 1;

        for (size_t i = first; i <= last; i++) {
                edge_width = MAX(edge_width, str_width(bin_label(p, i, &t)));
                count_width = MAX(count_width, str_width(unit_count(&t, p->counts[i])));
                most = MAX(most, p->counts[i]);
        }
        for (size_t i = first; i <= last; i++) {
                if (i > first)
                        str_add(to, "\n");
                pad_left(to, bin_label(p, i, &t), edge_width);
                str_add(to, "  ");
                pad_left(to, unit_count(&t, p->counts[i]), count_width);
                if (p->counts[i])
                        str_add(to, "  ");
                function_add_bar(to, (double)p->counts[i] / (double)most, BAR_CELLS);
        }
}

void aggregate_final_histogram(sqlite3_context *to) {
        const struct powers *p = sqlite3_aggregate_context(to, 0);
        size_t first = 0, last = N_BINS;
        struct str text = {0};

        while (p && first < N_BINS && p->counts[first] == 0)
                first++;
        if (!p || first == N_BINS)
                return;
        while (p->counts[--last] == 0)
                continue;
        add_bins(&text, p, first, last);
        sqlite3_result_text(to, str_text(&text), -1, SQLITE_TRANSIENT);
        str_done(&text);
}
