/* SPDX-License-Identifier: MIT */
/* The boxes of a flame graph for programs: schema silt.flame/1. One array a column, one entry a box. */
#include "base/json.h"
#include "flame/flame_write.h"
#include "query/ages.h"
#include "query/spent_time.h"
#include "query/trace_times.h"

enum kind { KIND_ROOT, KIND_FRAME, KIND_REST, KIND_PROCESS, KIND_LINE, KIND_NO_PATH };

/* Bits of "marks". */
enum mark { MARK_INLINED = 1, MARK_ASYNC = 2, MARK_UNNAMED = 4, MARK_MACHINERY = 8 };

static const char *const kinds[] = {"root", "frame", "rest", "process", "line", "no-path"};

typedef int64_t (*column_fn)(const struct graph_frame *f);

static int64_t column_parent(const struct graph_frame *f) {
        return f->depth ? (int64_t)f->parent : -1;
}
static int64_t column_name(const struct graph_frame *f) {
        return f->name;
}
static int64_t column_function(const struct graph_frame *f) {
        return f->function_text;
}
static int64_t column_place(const struct graph_frame *f) {
        return f->place;
}
static int64_t column_module(const struct graph_frame *f) {
        return f->crate;
}
static int64_t column_object(const struct graph_frame *f) {
        return f->object;
}
static int64_t column_marks(const struct graph_frame *f) {
        return f->is_inlined * MARK_INLINED + f->is_task * MARK_ASYNC +
               f->is_unnamed * MARK_UNNAMED + f->is_helper * MARK_MACHINERY;
}
static int64_t column_hue(const struct graph_frame *f) {
        return f->hue;
}
static int64_t column_shade(const struct graph_frame *f) {
        return f->shade;
}
static int64_t column_value(const struct graph_frame *f) {
        return f->is.value;
}
static int64_t column_beside(const struct graph_frame *f) {
        return f->is.beside;
}
static int64_t column_was(const struct graph_frame *f) {
        return f->was.value;
}
static int64_t column_rest(const struct graph_frame *f) {
        return f->n_rest;
}
static int64_t column_site(const struct graph_frame *f) {
        return f->stack;
}
static int64_t column_kind(const struct graph_frame *f) {
        if (!f->depth)
                return KIND_ROOT;
        if (f->is_rest)
                return KIND_REST;
        if (f->is_process)
                return KIND_PROCESS;
        if (f->is_line)
                return KIND_LINE;
        return f->is_no_path ? KIND_NO_PATH : KIND_FRAME;
}

static void put_column(struct json *j, const struct graph *g, const char *key, column_fn fn) {
        json_key(j, key);
        json_array(j);
        for (size_t i = 0; i < g->frames.n; i++)
                json_int(j, fn(&g->frames.items[i]));
        json_end(j);
}

static void put_widths(struct json *j, const struct graph *g) {
        json_key(j, "width");
        json_array(j);
        for (size_t i = 0; i < g->frames.n; i++)
                json_double(j, g->frames.items[i].width, 1);
        json_end(j);
}

/* ---- ages ----------------------------------------------------------------------------------------- */

static bool age_of(const struct graph_frame *f, double *ret) {
        return query_mean_age_s(f->is.value, f->is.is_sampled, f->is.aged_bytes, f->is.aged_byte_s,
                                ret);
}

/* NULL: the ages are known, at least of some. */
static const char *why_no_ages(const struct graph *g, const struct query *q) {
        double age_s;

        if (g->has_old)
                return "A comparison shows what changed, not how old it is.";
        if (!query_metric_has_ages(g->metric))
                return "Only what is alive has an age: measure by peak or end.";
        if (!query_has_times(q))
                return "The recording has no times.";
        if (g->frames.items[0].is.value <= 0)
                return "Nothing is alive then.";
        for (size_t i = 0; i < g->frames.n; i++)
                if (age_of(&g->frames.items[i], &age_s))
                        return NULL;
        return "Age unknown: the trace does not have the allocations it would take.";
}

static void put_ages(struct json *j, const struct graph *g, const struct query *q) {
        const char *why = why_no_ages(g, q);

        json_key(j, "age_s");
        if (why) {
                json_null(j);
                json_put_string(j, "age_unknown", why);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < g->frames.n; i++) {
                double age_s;

                if (age_of(&g->frames.items[i], &age_s))
                        json_double(j, age_s, 9);
                else
                        json_null(j);
        }
        json_end(j);
        json_key(j, "age_unknown");
        json_null(j);
}

static void put_colours(struct json *j, const struct graph *g) {
        json_key(j, "colours");
        json_array(j);
        for (size_t i = 0; i < g->n_keys; i++) {
                json_object(j);
                json_put_uint(j, "hue", g->keys[i].hue);
                json_put_string(j, "name", g->texts->items.items[g->keys[i].crate]);
                json_put_double(j, "share", g->keys[i].share, 6);
                json_end(j);
        }
        json_end(j);
}

/* Lines of a text as an array. */
static void put_lines(struct json *j, const char *key, const char *text) {
        json_key(j, key);
        json_array(j);
        while (*text) {
                size_t n = strcspn(text, "\n");
                struct str line = {0};

                str_addn(&line, text, n);
                if (n)
                        json_string(j, str_text(&line));
                str_done(&line);
                text += n + (text[n] == '\n');
        }
        json_end(j);
}

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

static void put_head(struct json *j, const struct picture *p, const struct view *v,
                     const struct query_answer *a) {
        const struct graph *g = &p->graph;
        struct str doubts = {0};

        json_put_string(j, "schema", "silt.flame/1");
        json_put_string(j, "metric", query_metric_name(g->metric));
        put_bool(j, "reversed", g->is_reversed);
        json_key(j, "whole");
        json_int(j, g->frames.items[0].is.value);
        json_put_string(j, "unit", metric_is_count(g->metric) ? "blocks" : unit_weight_name());
        json_put_string(j, "sentence", p->words.title);
        json_put_string(j, "scope", p->words.subtitle);
        json_put_string(j, "note", p->words.note);
        view_add_doubts(v, a, &doubts);
        put_lines(j, "doubts", str_text(&doubts));
        str_done(&doubts);
        put_bool(j, "is_change", graph_is_change(g));
}

static void put_kinds(struct json *j) {
        json_key(j, "kinds");
        json_array(j);
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                json_string(j, kinds[i]);
        json_end(j);
}

void write_json(FILE *out, const struct picture *p, const struct view *v,
                const struct query_answer *a, bool with_ages) {
        const struct graph *g = &p->graph;
        struct json j;

        for (size_t i = 0; i < g->frames.n; i++)
                if (g->frames.items[i].function)
                        g->frames.items[i].function_text =
                                text_pool_add(g->texts, g->frames.items[i].function);
        json_init(&j, out);
        json_object(&j);
        put_head(&j, p, v, a);
        json_key(&j, "names");
        json_array(&j);
        for (size_t i = 0; i < g->texts->items.n; i++)
                json_string(&j, g->texts->items.items[i]);
        json_end(&j);
        put_column(&j, g, "parent", column_parent);
        put_column(&j, g, "name", column_name);
        put_column(&j, g, "function", column_function);
        put_column(&j, g, "place", column_place);
        put_column(&j, g, "module", column_module);
        put_column(&j, g, "object", column_object);
        put_column(&j, g, "marks", column_marks);
        put_column(&j, g, "hue", column_hue);
        put_column(&j, g, "shade", column_shade);
        put_widths(&j, g);
        put_column(&j, g, "value", column_value);
        if (!query_metric_time(g->metric) && /* of time they are samples */
            (g->frames.items[0].is.lacks_blocks || g->frames.items[0].was.lacks_blocks)) {
                json_key(&j, "beside");
                json_null(&j);
        } else {
                put_column(&j, g, "beside", column_beside);
        }
        if (g->has_old) {
                put_column(&j, g, "was", column_was);
        } else {
                json_key(&j, "was");
                json_null(&j);
        }
        put_kinds(&j);
        put_column(&j, g, "kind", column_kind);
        put_column(&j, g, "rest", column_rest);
        put_column(&j, g, "site", column_site);
        put_colours(&j, g);
        if (with_ages)
                put_ages(&j, g, v->q);
        json_end(&j);
}
