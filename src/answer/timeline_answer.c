/* SPDX-License-Identifier: MIT */
/* Live bytes, resident memory and rates over time: silt.timeline/1. */
#include <errno.h>
#include <stdlib.h>

#include "answer/answers.h"
#include "query/rates.h"
#include "query/spent_time.h"

/* Each moment of a history costs a look at every call path. */
enum { COARSE_MOMENTS = 100 };

struct lines {
        struct query_scope scope;
        size_t n;
        struct query_column *columns;
        struct query_rate *rates;
        bool has_rates;
        double *cpu_ns, *blocked_ns;   /* NULL: nobody looked */
        struct query_history *history; /* NULL: not asked for */
};

static uint64_t max_events(const struct question *k) {
        return k->asked->is_coarse ? 0 : ANSWER_MAX_EVENTS;
}

/* NULL where nobody looked, or the filter is on single blocks. */
static int ask_time(struct lines *l, struct question *k, enum query_time of, double **ret,
                    struct err *reterr) {
        struct query_scope scope = k->resolved.scope;
        struct err e = {0};
        int r;

        if (!query_has_ticks(k->q))
                return 0;
        scope.of_mappings = false;
        scope.of_time = of;
        *ret = calloc(l->n, sizeof((*ret)[0]));
        if (!*ret)
                abort();
        r = query_time_columns(k->q, &scope, l->n, *ret, &e);
        if (r == -EINVAL) {
                free(*ret);
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                *reterr = e;
        return r;
}

static int ask(struct lines *l, struct question *k, struct err *reterr) {
        const struct query_group_options by = {.by = k->asked->request.shape == REQUEST_GROUPS
                                                             ? k->asked->request.group_by
                                                             : QUERY_BY_CRATE,
                                               .metric = k->resolved.metric};
        int r;

        l->n = k->asked->n_columns;
        l->scope = k->resolved.scope;
        l->scope.of_time = QUERY_NO_TIME; /* memory and time are told in any case */
        l->columns = calloc(l->n, sizeof(l->columns[0]));
        l->rates = calloc(l->n, sizeof(l->rates[0]));
        if (!l->columns || !l->rates)
                abort();
        r = query_timeline(k->q, &l->scope, l->n, max_events(k), l->columns, reterr);
        if (r >= 0)
                r = query_rates(k->q, &l->scope, l->n, l->rates, &l->has_rates, reterr);
        /* sums since the start have none, nor has what has no times */
        l->has_rates &= !(k->v->meta.flags & (TRACE_IS_TOTALS | TRACE_LACKS_TIME));
        if (r >= 0)
                r = ask_time(l, k, QUERY_CPU_TIME, &l->cpu_ns, reterr);
        if (r >= 0)
                r = ask_time(l, k, QUERY_BLOCKED_TIME, &l->blocked_ns, reterr);
        if (r >= 0 && k->asked->n_groups)
                r = query_history(k->q, &k->resolved.scope, &by, k->asked->n_groups,
                                  k->asked->is_coarse ? MIN(l->n, (size_t)COARSE_MOMENTS) : l->n,
                                  max_events(k), &l->history, reterr);
        return r;
}

static void put_live(struct json *j, const struct lines *l) {
        json_key(j, "live_bytes");
        json_array(j);
        for (size_t i = 0; i < l->n; i++)
                json_uint(j, l->columns[i].live_bytes);
        json_end(j);
        json_key(j, "low_live_bytes");
        json_array(j);
        for (size_t i = 0; i < l->n; i++)
                json_uint(j, l->columns[i].low_live_bytes);
        json_end(j);
        json_key(j, "rss_bytes");
        json_array(j);
        for (size_t i = 0; i < l->n; i++)
                if (l->columns[i].has_rss)
                        json_uint(j, l->columns[i].rss_bytes);
                else
                        json_null(j);
        json_end(j);
}

static void put_rates(struct json *j, const struct lines *l, const char *key, bool is_bytes) {
        json_key(j, key);
        if (!l->has_rates) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < l->n; i++) {
                double s = answer_seconds(l->columns[i].end_ns - l->columns[i].begin_ns);

                json_double(j,
                            s > 0 ? (is_bytes ? l->rates[i].bytes : l->rates[i].n_allocs) / s : 0,
                            1);
        }
        json_end(j);
}

/* Seconds of it in each second: how many threads were so at a time. */
static void put_time(struct json *j, const struct lines *l, const char *key, const double *in_ns) {
        json_key(j, key);
        if (!in_ns) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < l->n; i++) {
                uint64_t ns = l->columns[i].end_ns - l->columns[i].begin_ns;

                json_double(j, ns ? in_ns[i] / (double)ns : 0, 4);
        }
        json_end(j);
}

/* Where the history has fewer columns, each of them stands for all that end in it. */
static void put_history(struct json *j, const struct lines *l, size_t group) {
        const struct query_history *h = l->history;

        json_array(j);
        for (size_t i = 0; i < l->n; i++) {
                size_t column = ((i + 1) * h->n_columns + l->n - 1) / l->n - 1;

                json_int(j, h->live_bytes[group * h->n_columns + column]);
        }
        json_end(j);
}

static void put_groups(struct question *k, const struct lines *l) {
        const struct query_history *h = l->history;
        struct json *j = &k->j;

        if (!h) {
                answer_put_null(j, "group_by");
                json_key(j, "groups");
                json_array(j);
                json_end(j);
                answer_put_null(j, "rest_live_bytes");
                return;
        }
        json_put_string(j, "group_by", query_by_name(h->groups->options.by));
        json_key(j, "groups");
        json_array(j);
        for (size_t i = 0; i < h->n_groups; i++) {
                struct str name = {0};

                answer_add_group(k, h->groups->options.by, &h->groups->rows[i], &name);
                json_object(j);
                json_put_string(j, "name", str_text(&name));
                json_key(j, "live_bytes");
                put_history(j, l, i);
                json_end(j);
                str_done(&name);
        }
        json_end(j);
        json_key(j, "rest_live_bytes");
        put_history(j, l, h->n_groups);
}

int answer_timeline(struct question *k, struct err *reterr) {
        struct lines l = {0};
        struct json *j = &k->j;
        int r = ask(&l, k, reterr);

        if (r >= 0) {
                json_object(j);
                json_put_string(j, "schema", "silt.timeline/1");
                answer_put_seconds(j, "from_s", l.columns[0].begin_ns);
                answer_put_seconds(j, "to_s", l.columns[l.n - 1].end_ns);
                json_put_uint(j, "columns", l.n);
                answer_put_bool(j, "exact", !k->asked->is_coarse);
                put_live(j, &l);
                put_rates(j, &l, "allocations_per_s", false);
                put_rates(j, &l, "allocated_bytes_per_s", true);
                put_time(j, &l, "threads_on_cpu", l.cpu_ns);
                put_time(j, &l, "threads_blocked", l.blocked_ns);
                put_groups(k, &l);
                json_end(j);
        }
        free(l.columns);
        free(l.rates);
        free(l.cpu_ns);
        free(l.blocked_ns);
        query_history_free(l.history);
        return r;
}
