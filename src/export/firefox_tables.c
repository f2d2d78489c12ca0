/* SPDX-License-Identifier: MIT */
#include "export/firefox_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/frame.h"

void firefox_tables_init(struct firefox_tables *t, const struct export_job *job,
                         struct text_table *libs) {
        *t = (struct firefox_tables){.job = job, .libs = libs};
        frame_table_init(&t->frames, job->q);
        text_table_init(&t->texts);
        t->is_used = calloc(job->view->n_stacks + 1, sizeof(t->is_used[0]));
        t->stack_ids = calloc(job->view->n_stacks + 1, sizeof(t->stack_ids[0]));
        if (!t->is_used || !t->stack_ids)
                abort();
        t->stack_ids[0] = -1;
}

void firefox_tables_done(struct firefox_tables *t) {
        frame_table_done(&t->frames);
        text_table_done(&t->texts);
        free(t->is_used);
        free(t->stack_ids);
        vec_free(&t->stacks);
        vec_free(&t->funcs);
        vec_free(&t->func_of);
        vec_free(&t->resources);
        map_done(&t->func_ids);
        map_done(&t->leaves);
        map_done(&t->resource_ids);
}

void firefox_tables_use(struct firefox_tables *t, uint32_t stack) {
        const struct trace_view *v = t->job->view;

        t->is_used[0] |= stack == 0;
        for (; stack && stack < v->n_stacks && !t->is_used[stack]; stack = v->stacks[stack].parent)
                t->is_used[stack] = true;
}

uint32_t firefox_tables_text(struct firefox_tables *t, const char *text) {
        return text_table_number(&t->texts, text);
}

int64_t firefox_tables_stack(const struct firefox_tables *t, uint32_t stack) {
        return stack && stack < t->job->view->n_stacks ? t->stack_ids[stack] : -1;
}

/* ---- making them ------------------------------------------------------------------------------- */

static uint32_t resource_of(struct firefox_tables *t, const char *module) {
        uint32_t text = firefox_tables_text(t, module);
        bool is_new;
        uint64_t *id;

        if (!module[0])
                return 0;
        id = map_put(&t->resource_ids, text, t->resources.n, &is_new);
        if (is_new)
                vec_push(&t->resources, text);
        return (uint32_t)*id + 1;
}

static uint32_t make_func(struct firefox_tables *t, const struct frame_entry *f) {
        struct firefox_func func = {firefox_tables_text(t, f->name),
                                    firefox_tables_text(t, f->frame.file),
                                    resource_of(t, f->frame.module), 0};
        uint64_t *first =
                map_put(&t->func_ids,
                        map_hash((uint64_t)func.name << 32 | func.file) ^ func.resource, 0, NULL);

        for (uint32_t i = (uint32_t)*first; i; i = t->funcs.items[i - 1].next) {
                const struct firefox_func *o = &t->funcs.items[i - 1];

                if (o->name == func.name && o->file == func.file && o->resource == func.resource)
                        return i - 1;
        }
        func.next = (uint32_t)*first;
        vec_push(&t->funcs, func);
        *first = t->funcs.n;
        return (uint32_t)t->funcs.n - 1;
}

/* Callers stand before what they call: so they do in a trace. */
void firefox_tables_make(struct firefox_tables *t) {
        const struct trace_view *v = t->job->view;

        for (uint32_t s = 1; s < v->n_stacks; s++) {
                uint32_t parent = v->stacks[s].parent;
                int64_t prefix = parent && parent < s ? t->stack_ids[parent] : -1;
                const uint32_t *ids;
                size_t n;

                if (!t->is_used[s])
                        continue;
                ids = frame_table_location(&t->frames, v->stacks[s].location, &n);
                for (size_t i = n; i-- > 0;) {
                        vec_push(&t->stacks, (struct firefox_stack){prefix, ids[i], 0});
                        prefix = (int64_t)t->stacks.n - 1;
                }
                t->stack_ids[s] = prefix;
        }
        if (t->is_used[0]) {
                const struct query_frame unknown = {.function = "unknown",
                                                    .file = "",
                                                    .module = ""};

                t->stack_ids[0] = (int64_t)t->stacks.n;
                vec_push(&t->stacks,
                         (struct firefox_stack){-1, frame_table_add(&t->frames, &unknown), 0});
        }
        for (size_t i = 0; i < t->frames.frames.n; i++)
                vec_push(&t->func_of, make_func(t, &t->frames.frames.items[i]));
}

/* ---- writing them ------------------------------------------------------------------------------ */

static void put_index(struct json *j, int64_t v) {
        if (v < 0)
                json_null(j);
        else
                json_int(j, v);
}

static void put_empty(struct json *j, const char *key) {
        json_key(j, key);
        json_array(j);
        json_end(j);
}

static void put_nothing(struct json *j, size_t i) {
        (void)i;
        json_null(j);
}

/* A call path has the category of its innermost frame: one frame more for each that it is in. */
int64_t firefox_tables_leaf(struct firefox_tables *t, uint32_t stack, enum firefox_category c) {
        uint32_t known = stack < t->job->view->n_stacks ? stack : 0;
        int64_t id = t->stack_ids[known];
        uint64_t *leaf;
        bool is_new;

        if (id < 0)
                return id;
        leaf = map_put(&t->leaves, (uint64_t)known << 8 | (uint64_t)c, t->stacks.n, &is_new);
        if (is_new) {
                struct firefox_stack s = t->stacks.items[id];

                s.category = c;
                vec_push(&t->stacks, s);
        }
        return (int64_t)*leaf;
}

static void put_stack_table(struct firefox_tables *t, struct json *j) {
        size_t n = t->stacks.n;

        json_key(j, "stackTable");
        json_object(j);
        JSON_PUT_EACH(j, "frame", n, json_uint, t->stacks.items[i].frame);
        JSON_PUT_EACH(j, "prefix", n, put_index, t->stacks.items[i].prefix);
        JSON_PUT_EACH(j, "category", n, json_uint, t->stacks.items[i].category);
        JSON_PUT_EACH(j, "subcategory", n, json_uint, 0);
        json_put_uint(j, "length", n);
        json_end(j);
}

static void put_frame_table(struct firefox_tables *t, struct json *j) {
        const struct frame_entry *f = t->frames.frames.items;
        size_t n = t->frames.frames.n;

        json_key(j, "frameTable");
        json_object(j);
        JSON_PUT_EACH(j, "address", n, json_int, -1);
        JSON_PUT_EACH(j, "inlineDepth", n, json_uint, 0);
        JSON_PUT_EACH(j, "category", n, json_uint, 0);
        JSON_PUT_EACH(j, "subcategory", n, json_uint, 0);
        JSON_PUT_EACH(j, "func", n, json_uint, t->func_of.items[i]);
        JSON_PUT_EACH(j, "nativeSymbol", n, put_nothing, i);
        JSON_PUT_EACH(j, "innerWindowID", n, json_uint, 0);
        JSON_PUT_EACH(j, "implementation", n, put_nothing, i);
        JSON_PUT_EACH(j, "line", n, put_index, f[i].frame.line ? (int64_t)f[i].frame.line : -1);
        JSON_PUT_EACH(j, "column", n, put_nothing, i);
        json_put_uint(j, "length", n);
        json_end(j);
}

static void put_func_table(struct firefox_tables *t, struct json *j) {
        const struct firefox_func *f = t->funcs.items;
        size_t n = t->funcs.n;

        json_key(j, "funcTable");
        json_object(j);
        JSON_PUT_EACH(j, "name", n, json_uint, f[i].name);
        JSON_PUT_EACH(j, "isJS", n, json_bool, false);
        JSON_PUT_EACH(j, "relevantForJS", n, json_bool, false);
        JSON_PUT_EACH(j, "resource", n, json_int, (int64_t)f[i].resource - 1);
        JSON_PUT_EACH(j, "fileName", n, put_index, f[i].file ? (int64_t)f[i].file : -1);
        JSON_PUT_EACH(j, "lineNumber", n, put_nothing, i);
        JSON_PUT_EACH(j, "columnNumber", n, put_nothing, i);
        json_put_uint(j, "length", n);
        json_end(j);
}

static void put_resource_table(struct firefox_tables *t, struct json *j) {
        size_t n = t->resources.n;

        json_key(j, "resourceTable");
        json_object(j);
        JSON_PUT_EACH(j, "lib", n, json_uint,
                      text_table_number(t->libs, t->texts.texts.items[t->resources.items[i]]) - 1);
        JSON_PUT_EACH(j, "name", n, json_uint, t->resources.items[i]);
        JSON_PUT_EACH(j, "host", n, put_nothing, i);
        JSON_PUT_EACH(j, "type", n, json_uint, 1);
        json_put_uint(j, "length", n);
        json_end(j);
}

void firefox_tables_put(struct firefox_tables *t, struct json *j) {
        put_stack_table(t, j);
        put_frame_table(t, j);
        put_func_table(t, j);
        put_resource_table(t, j);
        json_key(j, "nativeSymbols");
        json_object(j);
        put_empty(j, "libIndex");
        put_empty(j, "address");
        put_empty(j, "name");
        put_empty(j, "functionSize");
        json_put_uint(j, "length", 0);
        json_end(j);
        JSON_PUT_EACH(j, "stringArray", t->texts.texts.n, json_string, t->texts.texts.items[i]);
}
