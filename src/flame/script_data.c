/* SPDX-License-Identifier: MIT */
/* What the script draws from: columns of numbers, one entry a frame, and the texts they point into. */
#include "flame/escape.h"
#include "flame/flame_write.h"

typedef int64_t (*column_fn)(const struct graph_frame *f);

static int64_t column_name(const struct graph_frame *f) {
        return f->name;
}
static int64_t column_place(const struct graph_frame *f) {
        return f->place;
}
static int64_t column_children(const struct graph_frame *f) {
        return f->n_children;
}
static int64_t column_rest(const struct graph_frame *f) {
        return f->n_rest;
}
static int64_t column_marks(const struct graph_frame *f) {
        return f->is_inlined + 2 * f->is_task + 4 * f->is_rest + 8 * f->is_unnamed +
               16 * f->is_process;
}
static int64_t column_colour(const struct graph_frame *f) {
        return f->hue * HUE_N_SHADES + f->shade;
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
static int64_t column_width(const struct graph_frame *f) {
        return (int64_t)MIN(unit_nearest(f->width), (uint64_t)INT64_MAX);
}

static void add_column(struct str *to, const struct graph *g, const char *key, column_fn fn) {
        str_addf(to, ",\n\"%s\":[", key);
        for (size_t i = 0; i < g->frames.n; i++)
                str_addf(to, "%s%lld", i ? "," : "", (long long)fn(&g->frames.items[i]));
        str_add(to, "]");
}

static void add_text(struct str *to, const char *key, const char *text) {
        str_addf(to, ",\n\"%s\":", key);
        escape_add_script(to, text);
}

static void add_keys(struct str *to, const struct graph *g) {
        str_add(to, ",\n\"keys\":[");
        for (size_t i = 0; i < g->n_keys; i++) {
                str_addf(to, "%s[%u,", i ? "," : "", g->keys[i].hue);
                escape_add_script(to, g->texts->items.items[g->keys[i].crate]);
                str_addf(to, ",%.0f]", graph_pct(g->keys[i].share));
        }
        str_add(to, "]");
}

static void add_picture(struct str *to, const struct picture *p) {
        const struct graph *g = &p->graph;

        str_addf(to, "{\"metric\":\"%s\",\"reversed\":%d,\"change\":%d,\"old\":%d",
                 query_metric_name(g->metric), g->is_reversed, graph_is_change(g), g->has_old);
        add_text(to, "title", p->words.title);
        add_text(to, "subtitle", p->words.subtitle);
        add_text(to, "note", p->words.note);
        add_keys(to, g);
        add_column(to, g, "name", column_name);
        add_column(to, g, "place", column_place);
        add_column(to, g, "children", column_children);
        add_column(to, g, "rest", column_rest);
        add_column(to, g, "marks", column_marks);
        add_column(to, g, "colour", column_colour);
        add_column(to, g, "value", column_value);
        add_column(to, g, "beside", column_beside);
        if (g->has_old)
                add_column(to, g, "was", column_was);
        if (graph_is_change(g))
                add_column(to, g, "width", column_width);
        str_add(to, "}");
}

static void add_curve(struct str *to, const struct timeline_curve *c) {
        str_addf(to,
                 "{\"end\":%llu,\"from\":%llu,\"to\":%llu,\"peak\":%llu,\"bytes\":%llu,\"live\":[",
                 (unsigned long long)c->end_ns, (unsigned long long)c->from_ns,
                 (unsigned long long)c->to_ns, (unsigned long long)c->peak_ns,
                 (unsigned long long)c->peak_bytes);
        for (size_t i = 0; i < TIMELINE_COLUMNS; i++)
                str_addf(to, "%s%llu", i ? "," : "", (unsigned long long)c->live_bytes[i]);
        str_add(to, "]}");
}

static void add_timeline(struct str *to, const struct timeline *t) {
        str_add(to, "\"timeline\":[");
        for (size_t i = 0; i < t->n; i++) {
                str_add(to, i ? "," : "");
                add_curve(to, &t->curves[i]);
        }
        str_add(to, "],\n");
}

void write_data(struct str *to, const struct picture *pictures, size_t n, const struct timeline *t,
                const struct flame_options *o) {
        const struct text_pool *texts = pictures[0].graph.texts;

        str_addf(
                to,
                "const silt_flame = {\"row\":%d,\"maxRow\":%d,\"rows\":%d,\"twoLines\":%d,\"pad\":%d,\"cell\":%g,\"width\":%u,\n",
                PICTURE_ROW, PICTURE_MAX_ROW, PICTURE_ROWS, PICTURE_TWO_LINES, PICTURE_PAD,
                PICTURE_CELL, o->width_px);
        add_timeline(to, t);
        str_add(to, "\"names\":[");
        for (size_t i = 0; i < texts->items.n; i++) {
                str_add(to, i ? ",\n" : "");
                escape_add_script(to, texts->items.items[i]);
        }
        str_add(to, "],\n\"pictures\":[\n");
        for (size_t i = 0; i < n; i++) {
                str_add(to, i ? ",\n" : "");
                add_picture(to, &pictures[i]);
        }
        str_add(to, "]};\n");
}
