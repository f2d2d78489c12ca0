/* SPDX-License-Identifier: MIT */
/* Rows of groups with every metric, one array a column: silt.table/1. */
#include <errno.h>
#include <string.h>

#include "answer/answers.h"
#include "query/joined_groups.h"
#include "query/spent_time.h"
#include "show/show_json.h"
#include "show/text_pool.h"

enum { SPARK_COLUMNS = 60 };

/* What a row has several of: the metric asked for has its own place, too. */
enum weight { WEIGHT_MEMORY, WEIGHT_CPU, WEIGHT_BLOCKED, N_WEIGHTS };

struct table {
        struct question *k;
        enum query_by by;
        enum query_metric metric;
        enum weight weight; /* of the metric */
        const struct query_groups *groups;
        struct query_groups *owned[N_WEIGHTS];    /* NULL: not asked for */
        struct query_history *history;            /* NULL: no sparks */
        const struct query_groups *of[N_WEIGHTS]; /* those of the metric first */
        struct query_joined *joined;
        const struct query_group **rows; /* one of a row's: the metric's, if it has that */
        size_t *joined_idx;              /* of a row */
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

/* The place of a weight among the joined ones: that of the metric is the first. */
static size_t place_of(const struct table *t, enum weight w) {
        return w == t->weight ? 0 : w < t->weight ? w + 1u : (size_t)w;
}

/* What a row has of a weight; NULL: nothing. */
static const struct query_group *has(const struct table *t, size_t row, enum weight w) {
        return t->joined->rows[t->joined_idx[row] * N_WEIGHTS + place_of(t, w)];
}

/* The metric's, else any other's. */
static const struct query_group *any_of(const struct table *t, size_t joined_idx) {
        const struct query_group *const *all = &t->joined->rows[joined_idx * N_WEIGHTS];

        for (size_t i = 0; i < N_WEIGHTS; i++)
                if (all[i])
                        return all[i];
        return NULL;
}

static bool is_idle_row(const struct table *t, size_t joined_idx) {
        for (size_t i = 0; i < N_WEIGHTS; i++) {
                const struct query_group *g = t->joined->rows[joined_idx * N_WEIGHTS + i];

                if (g && (!is_idle(&g->self) || !is_idle(&g->total)))
                        return false;
        }
        return true;
}

/* Those that have any of any metric: each column sorts. */
static void choose_rows(struct table *t) {
        size_t max = t->k->asked->n_rows;

        t->joined = query_join_groups(t->of, N_WEIGHTS);
        t->rows = calloc(t->joined->n + 1, sizeof(t->rows[0]));
        t->joined_idx = calloc(t->joined->n + 1, sizeof(t->joined_idx[0]));
        if (!t->rows || !t->joined_idx)
                abort();
        for (size_t i = 0; i < t->joined->n && t->n < max; i++)
                if (!is_idle_row(t, i)) {
                        t->joined_idx[t->n] = i;
                        t->rows[t->n++] = any_of(t, i);
                }
}

static size_t count_rows(const struct table *t) {
        size_t n = 0;

        for (size_t i = 0; i < t->joined->n; i++)
                n += !is_idle_row(t, i);
        return n;
}

static const enum query_metric weight_metrics[N_WEIGHTS] = {
        [WEIGHT_MEMORY] = QUERY_PEAK,
        [WEIGHT_CPU] = QUERY_CPU,
        [WEIGHT_BLOCKED] = QUERY_BLOCKED,
};

/* Call paths are of one weight: what allocates ends in an allocator. Sizes are of blocks. */
static bool may_stand_beside(const struct table *t, enum weight w) {
        bool is_time = w != WEIGHT_MEMORY;

        return w != t->weight && t->by != QUERY_BY_SITE && t->by != QUERY_BY_SIZE &&
               t->metric != QUERY_MAPPED && query_has_ticks(t->k->q) &&
               (is_time || !query_is_of_time(t->k->q));
}

/* Filters on single blocks leave time out. */
static int ask_beside(struct table *t, enum weight w, struct err *reterr) {
        const struct query_group_options o = {.by = t->by,
                                              .metric = weight_metrics[w],
                                              .is_full = t->k->asked->request.full};
        struct query_scope scope = t->k->resolved.scope;
        struct err e = {0};
        int r;

        scope.of_time = query_metric_time(o.metric);
        r = query_group(t->k->q, &scope, &o, &t->owned[w], &e);
        if (r == -EINVAL)
                return 0;
        if (r < 0)
                *reterr = e;
        return r;
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
        } else {
                r = query_group(k->q, &k->resolved.scope, &o, &t->owned[t->weight], reterr);
                t->groups = t->owned[t->weight];
        }
        for (unsigned w = 0; w < N_WEIGHTS; w++) {
                if (r >= 0 && may_stand_beside(t, w))
                        r = ask_beside(t, w, reterr);
                t->of[place_of(t, w)] = w == t->weight ? t->groups : t->owned[w];
        }
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
        case QUERY_BY_COMPONENT:
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
        case QUERY_BY_COMPONENT:
        case QUERY_N_BY: break;
        }
}

/* Whole, as filters take it; the nearest name is another function's, and the place stands for it. */
static const char *function_of(const struct table *t, const struct query_frame *frame) {
        struct name_frame f = frame_of(frame);

        return f.guess ? name_label(t->k->frames.names, &f, false) : f.function;
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
                t->names[i].function = text_pool_add(&t->texts, function_of(t, &g->frame));
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

static int64_t peak_bytes(const struct query_figures *f) {
        return f->peak_bytes;
}
static int64_t peak_blocks(const struct query_figures *f) {
        return f->peak_blocks;
}
static int64_t end_bytes(const struct query_figures *f) {
        return f->end_bytes;
}
static int64_t end_blocks(const struct query_figures *f) {
        return f->end_blocks;
}
static int64_t allocated(const struct query_figures *f) {
        return (int64_t)f->alloc_bytes;
}
static int64_t n_allocated(const struct query_figures *f) {
        return (int64_t)f->n_allocs;
}
static int64_t n_temporary(const struct query_figures *f) {
        return (int64_t)f->n_temporary;
}
static int64_t growth(const struct query_figures *f) {
        return f->end_bytes - f->begin_bytes;
}

/* Time is an allocation of nanoseconds, samples are how many: query/spent_time.h. The last: without what it is unknown. */
static const struct {
        const char *key;
        enum weight weight;
        int64_t (*get)(const struct query_figures *f);
        uint32_t lacks;
} figure_columns[] = {
        {"peak_bytes", WEIGHT_MEMORY, peak_bytes, TRACE_LACKS_PEAK},
        {"peak_blocks", WEIGHT_MEMORY, peak_blocks, TRACE_LACKS_BLOCKS | TRACE_LACKS_PEAK},
        {"end_bytes", WEIGHT_MEMORY, end_bytes, TRACE_LACKS_LIVE},
        {"end_blocks", WEIGHT_MEMORY, end_blocks, TRACE_LACKS_BLOCKS | TRACE_LACKS_LIVE},
        {"allocated_bytes", WEIGHT_MEMORY, allocated, TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
        {"count", WEIGHT_MEMORY, n_allocated, TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
        {"temporary", WEIGHT_MEMORY, n_temporary, TRACE_IS_TOTALS},
        {"growth_bytes", WEIGHT_MEMORY, growth, TRACE_LACKS_LIVE},
        {"cpu_ns", WEIGHT_CPU, allocated, 0},
        {"cpu_samples", WEIGHT_CPU, n_allocated, 0},
        {"blocked_ns", WEIGHT_BLOCKED, allocated, 0},
};

/* null: of this metric nothing was asked, or nobody knows it. */
static void put_figures(struct table *t, bool is_total) {
        bool has_totals = show_groups_have_totals(t->by);
        struct json *j = &t->k->j;
        struct str key = {0};

        for (size_t c = 0; c < ARRAY_SIZE(figure_columns); c++) {
                enum weight w = figure_columns[c].weight;

                str_clear(&key);
                str_addf(&key, "%s%s", is_total ? "total_" : "", figure_columns[c].key);
                json_key(j, str_text(&key));
                if (!t->of[place_of(t, w)] || (is_total && !has_totals) ||
                    figure_columns[c].lacks & t->k->v->meta.flags) {
                        json_null(j);
                        continue;
                }
                json_array(j);
                for (size_t i = 0; i < t->n; i++) {
                        const struct query_group *g = has(t, i, w);

                        json_int(j, g ? figure_columns[c].get(is_total ? &g->total : &g->self) : 0);
                }
                json_end(j);
        }
        str_done(&key);
}

static void put_errors(struct table *t) {
        struct json *j = &t->k->j;

        json_key(j, "error");
        if (!query_sample_bytes(t->k->q) && t->weight == WEIGHT_MEMORY) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < t->n; i++) {
                const struct query_group *g = has(t, i, t->weight);

                json_double(j, g ? query_figures_error(&g->self, t->metric) : 0, 1);
        }
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
        for (size_t g = 0; h && g < t->n; g++) {
                const struct query_group *of = has(t, g, t->weight);
                size_t row = of ? (size_t)(of - h->groups->rows) : SIZE_MAX;

                if (row >= h->n_groups)
                        break;
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
        put_figures(t, false);
        put_figures(t, true);
        put_errors(t);
        put_sparks(t);
        json_end(j);
}

int answer_table(struct question *k, struct err *reterr) {
        struct table t = {.k = k,
                          .by = k->asked->request.shape == REQUEST_GROUPS
                                        ? k->asked->request.group_by
                                        : QUERY_BY_SITE,
                          .metric = k->resolved.metric,
                          .weight = k->resolved.metric == QUERY_CPU       ? WEIGHT_CPU
                                    : k->resolved.metric == QUERY_BLOCKED ? WEIGHT_BLOCKED
                                                                          : WEIGHT_MEMORY};
        int r = ask(&t, reterr);

        if (r >= 0) {
                choose_rows(&t);
                name_rows(&t);
                put_table(&t);
                text_pool_done(&t.texts);
        }
        free(t.rows);
        free(t.joined_idx);
        free(t.names);
        query_joined_free(t.joined);
        for (size_t i = 0; i < N_WEIGHTS; i++)
                query_groups_free(t.owned[i]);
        query_history_free(t.history);
        return r;
}
