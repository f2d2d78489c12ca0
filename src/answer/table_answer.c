/* SPDX-License-Identifier: MIT */
/* Rows of groups with every metric, one array a column: silt.table/1. */
#include <string.h>

#include "answer/answers.h"
#include "show/show_json.h"
#include "show/text_pool.h"

enum { SPARK_COLUMNS = 60 };

struct table {
        struct question *k;
        enum query_by by;
        enum query_metric metric;
        const struct query_groups *groups;
        struct query_groups *owned;
        struct query_history *history; /* NULL: no sparks */
        const struct query_group **rows;
        size_t n;
        struct text_pool texts;
        struct {
                uint32_t label, function, file, module, key;
        } * names;
};

/* ---- which rows ---------------------------------------------------------------------------------- */

static bool is_idle(const struct query_figures *f) {
        return query_figures_are_idle(f);
}

/* Those that have any of any metric: each column sorts. */
static void choose_rows(struct table *t) {
        size_t max = t->k->asked->n_rows;

        t->rows = calloc(t->groups->n + 1, sizeof(t->rows[0]));
        if (!t->rows)
                abort();
        for (size_t i = 0; i < t->groups->n && t->n < max; i++)
                if (!is_idle(&t->groups->rows[i].self) || !is_idle(&t->groups->rows[i].total))
                        t->rows[t->n++] = &t->groups->rows[i];
}

static size_t count_rows(const struct table *t) {
        size_t n = 0;

        for (size_t i = 0; i < t->groups->n; i++)
                n += !is_idle(&t->groups->rows[i].self) || !is_idle(&t->groups->rows[i].total);
        return n;
}

static int ask(struct table *t, struct err *reterr) {
        const struct question *k = t->k;
        const struct query_group_options o = {.by = t->by,
                                              .metric = t->metric,
                                              .is_full = k->asked->request.full};
        int r;

        if (k->asked->n_sparks) {
                r = query_history(k->q, &k->resolved.scope, &o, k->asked->n_sparks, SPARK_COLUMNS,
                                  0, &t->history, reterr);
                t->groups = r >= 0 ? t->history->groups : NULL;
                return r;
        }
        r = query_group(k->q, &k->resolved.scope, &o, &t->owned, reterr);
        t->groups = t->owned;
        return r;
}

/* ---- what they are called ------------------------------------------------------------------------ */

/* The filter that selects a row by its key; NULL: none does. */
static const char *filter_of(enum query_by by) {
        switch (by) {
        case QUERY_BY_SITE: return "site";
        case QUERY_BY_FUNCTION: return "function";
        case QUERY_BY_MODULE: return "module";
        case QUERY_BY_THREAD: return "thread";
        case QUERY_BY_SIZE: return "size";
        case QUERY_BY_PROCESS: return "process";
        case QUERY_BY_LINE:
        case QUERY_BY_CRATE:
        case QUERY_N_BY: break;
        }
        return NULL;
}

/* A pattern for this text alone. */
static void add_pattern(struct str *to, const char *text) {
        if (!text[0])
                return;
        str_add(to, "^");
        for (; *text; text++) {
                if (strchr("\\^$.[]|()?*+{}", *text))
                        str_add(to, "\\");
                str_addn(to, text, 1);
        }
        str_add(to, "$");
}

/* Code without a name by its place; nothing for blocks without a call path. */
static void add_function_pattern(const struct table *t, const struct query_group *g,
                                 struct str *to) {
        struct name_frame f = frame_of(&g->frame);

        if (!frame_is_unnamed(&f))
                add_pattern(to, f.function);
        else
                add_pattern(to, name_label(t->k->frames.names, &f, false));
}

static void add_key(const struct table *t, const struct query_group *g, struct str *to) {
        const struct trace_view *v = t->k->v;

        switch (t->by) {
        case QUERY_BY_SITE: str_addf(to, "%u", g->stack); break;
        case QUERY_BY_FUNCTION: add_function_pattern(t, g, to); break;
        case QUERY_BY_MODULE: add_pattern(to, g->frame.module); break;
        case QUERY_BY_THREAD:
                if (g->thread < v->n_threads)
                        str_addf(to, "%u", v->threads[g->thread].start.tid);
                break;
        case QUERY_BY_SIZE:
                str_addf(to, "%llu..%llu", (unsigned long long)g->min_bytes,
                         (unsigned long long)g->max_bytes);
                break;
        case QUERY_BY_PROCESS:
                if (g->process < v->n_processes)
                        query_add_process_word(t->k->q, g->process, to);
                break;
        case QUERY_BY_LINE:
        case QUERY_BY_CRATE:
        case QUERY_N_BY: break;
        }
}

static void name_rows(struct table *t) {
        struct str s = {0};

        text_pool_init(&t->texts);
        t->names = calloc(t->n + 1, sizeof(t->names[0]));
        if (!t->names)
                abort();
        for (size_t i = 0; i < t->n; i++) {
                const struct query_group *g = t->rows[i];

                str_clear(&s);
                answer_add_group(t->k, t->by, g, &s);
                t->names[i].label = text_pool_add(&t->texts, str_text(&s));
                t->names[i].function = text_pool_add(&t->texts, g->frame.function);
                t->names[i].file = text_pool_add(&t->texts, g->frame.file);
                t->names[i].module = text_pool_add(&t->texts, g->frame.module);
                str_clear(&s);
                add_key(t, g, &s);
                t->names[i].key = text_pool_add(&t->texts, str_text(&s));
        }
        str_done(&s);
}

/* ---- columns ------------------------------------------------------------------------------------- */

#define PUT_COLUMN(t, name, expression)                                                            \
        JSON_PUT_EACH(&(t)->k->j, name, (t)->n, json_int, (int64_t)(expression))

static void put_names(struct table *t) {
        struct json *j = &t->k->j;

        json_key(j, "names");
        json_array(j);
        for (size_t i = 0; i < t->texts.items.n; i++)
                json_string(j, t->texts.items.items[i]);
        json_end(j);
        PUT_COLUMN(t, "label", t->names[i].label);
        PUT_COLUMN(t, "function", t->names[i].function);
        PUT_COLUMN(t, "file", t->names[i].file);
        PUT_COLUMN(t, "line", t->rows[i]->frame.line);
        PUT_COLUMN(t, "module", t->names[i].module);
        PUT_COLUMN(t, "site", t->rows[i]->stack);
        PUT_COLUMN(t, "key", t->names[i].key);
        PUT_COLUMN(t, "call_paths", t->rows[i]->n_sites);
}

static void put_self(struct table *t) {
        PUT_COLUMN(t, "peak_bytes", t->rows[i]->self.peak_bytes);
        PUT_COLUMN(t, "peak_blocks", t->rows[i]->self.peak_blocks);
        PUT_COLUMN(t, "end_bytes", t->rows[i]->self.end_bytes);
        PUT_COLUMN(t, "end_blocks", t->rows[i]->self.end_blocks);
        PUT_COLUMN(t, "allocated_bytes", t->rows[i]->self.alloc_bytes);
        PUT_COLUMN(t, "count", t->rows[i]->self.n_allocs);
        PUT_COLUMN(t, "temporary", t->rows[i]->self.n_temporary);
        PUT_COLUMN(t, "growth_bytes", t->rows[i]->self.end_bytes - t->rows[i]->self.begin_bytes);
}

static void put_total(struct table *t) {
        PUT_COLUMN(t, "total_peak_bytes", t->rows[i]->total.peak_bytes);
        PUT_COLUMN(t, "total_peak_blocks", t->rows[i]->total.peak_blocks);
        PUT_COLUMN(t, "total_end_bytes", t->rows[i]->total.end_bytes);
        PUT_COLUMN(t, "total_end_blocks", t->rows[i]->total.end_blocks);
        PUT_COLUMN(t, "total_allocated_bytes", t->rows[i]->total.alloc_bytes);
        PUT_COLUMN(t, "total_count", t->rows[i]->total.n_allocs);
        PUT_COLUMN(t, "total_temporary", t->rows[i]->total.n_temporary);
        PUT_COLUMN(t, "total_growth_bytes",
                   t->rows[i]->total.end_bytes - t->rows[i]->total.begin_bytes);
}

static void put_no_total(struct json *j) {
        static const char *const keys[] = {"peak_bytes", "peak_blocks",     "end_bytes",
                                           "end_blocks", "allocated_bytes", "count",
                                           "temporary",  "growth_bytes"};
        struct str key = {0};

        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                str_clear(&key);
                str_addf(&key, "total_%s", keys[i]);
                answer_put_null(j, str_text(&key));
        }
        str_done(&key);
}

static void put_errors(struct table *t) {
        struct json *j = &t->k->j;

        json_key(j, "error");
        if (!query_sample_bytes(t->k->q)) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < t->n; i++)
                json_double(j, query_figures_error(&t->rows[i]->self, t->metric), 1);
        json_end(j);
}

/* The first rows are those of the history; what is idle comes last. */
static void put_sparks(struct table *t) {
        const struct query_history *h = t->history;
        struct json *j = &t->k->j;

        json_key(j, "spark_at_s");
        json_array(j);
        for (size_t i = 0; h && i < h->n_columns; i++)
                json_double(j, answer_seconds(h->at_ns[i]), 6);
        json_end(j);
        json_key(j, "spark_live_bytes");
        json_array(j);
        for (size_t g = 0; h && g < t->n && (size_t)(t->rows[g] - h->groups->rows) < h->n_groups;
             g++) {
                size_t row = (size_t)(t->rows[g] - h->groups->rows);

                json_array(j);
                for (size_t i = 0; i < h->n_columns; i++)
                        json_int(j, h->live_bytes[row * h->n_columns + i]);
                json_end(j);
        }
        json_end(j);
}

/* What rows are parts of: of samples it is an estimate, as they are; growth may be negative. */
static void put_whole(struct table *t) {
        const struct query_totals *x = &t->groups->answer->totals;

        json_key(&t->k->j, "whole");
        json_int(&t->k->j, t->metric == QUERY_GROWTH
                                   ? (int64_t)x->end_bytes - (int64_t)x->begin_bytes
                                   : (int64_t)query_metric_whole(x, t->metric));
}

static void put_table(struct table *t) {
        struct json *j = &t->k->j;

        json_object(j);
        json_put_string(j, "schema", "silt.table/1");
        json_put_string(j, "group_by", query_by_name(t->by));
        json_key(j, "filter_key");
        if (filter_of(t->by))
                json_string(j, filter_of(t->by));
        else
                json_null(j);
        json_put_uint(j, "rows_in_all", count_rows(t));
        json_put_uint(j, "rows_with_value", show_count_groups(t->groups));
        json_put_uint(j, "rows", t->n);
        json_put_string(j, "metric", query_metric_name(t->metric));
        put_whole(t);
        show_put_totals(j, "totals", t->k->q, &t->groups->answer->totals);
        put_names(t);
        put_self(t);
        if (show_groups_have_totals(t->by))
                put_total(t);
        else
                put_no_total(j);
        put_errors(t);
        put_sparks(t);
        json_end(j);
}

int answer_table(struct question *k, struct err *reterr) {
        struct table t = {.k = k,
                          .by = k->asked->request.shape == REQUEST_GROUPS
                                        ? k->asked->request.group_by
                                        : QUERY_BY_SITE,
                          .metric = k->resolved.metric};
        int r = ask(&t, reterr);

        if (r >= 0) {
                choose_rows(&t);
                name_rows(&t);
                put_table(&t);
                text_pool_done(&t.texts);
        }
        free(t.rows);
        free(t.names);
        query_groups_free(t.owned);
        query_history_free(t.history);
        return r;
}
