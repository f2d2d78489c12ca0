/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "keep/holder_name.h"
#include "keep/holders_write.h"
#include "keep/json_sum.h"
#include "keep/missing_blocks.h"
#include "show/show_json.h"

enum { USUAL_GROUPS = 1000 };

/* Who it is: of a place its name, of blocks where they were allocated. */
void holders_put_identity(struct json *j, const struct holders *h, const struct held_graph *g,
                          const struct site_group *x) {
        const struct root_place *p = x->kind == GROUP_PLACE ? holder_name_place(g, x->site) : NULL;
        uint32_t stack = x->kind == GROUP_BLOCKS && x->site != REACH_NO_SITE
                                 ? site_texts_stack(&h->texts, x->site)
                                 : REACH_NO_SITE;

        json_put_string(j, "kind", holder_name_kind(x, p));
        if (p) {
                json_put_string(j, "name", h->texts.pool.items.items[x->site]);
                json_put_string(j, "owner", g->heap.owners[p->owner].name);
        }
        if (x->kind == GROUP_BLOCKS && x->type)
                json_put_string(j, "type", h->texts.pool.items.items[x->type]);
        if (stack != REACH_NO_SITE && g == &h->now)
                show_put_stack(j, h->names.q, stack);
}

/* The one word that holds all of a group: where in its variable, or in whose frame. */
static void put_root(struct json *j, const struct holders *h, uint32_t group) {
        const struct held_graph *g = &h->now;
        uint32_t root = g->root_of_group[group], location;
        const struct root_place *p;
        struct query_frame frame;

        if (root == REACH_NONE)
                return;
        p = &g->places.list.items[g->places.places.of_root[root]];
        if (p->kind == ROOT_PLACE_VARIABLE)
                json_put_uint(j, "offset", g->heap.roots[root].begin - p->begin);
        location = g->heap.roots[root].kind == ROOT_STACK
                           ? root_places_frame(&g->heap, g->heap.roots[root].begin)
                           : HEAP_NO_LOCATION;
        if (location < query_view(h->names.q)->n_locations &&
            query_location_frames(h->names.q, location, &frame, 1) > 0)
                json_put_string(j, "frame", frame.function);
}

/* What its blocks are as containers, and how full. */
static void put_container(struct json *j, const struct holders *h, uint32_t group) {
        static const char *const kinds[] = {[CONTAINER_OPEN_TABLE] = "hash table",
                                            [CONTAINER_CHAINED_TABLE] = "chained hash table",
                                            [CONTAINER_VECTOR] = "vector",
                                            [CONTAINER_STRING] = "string"};
        enum heap_container_kind kind;
        const struct container_sum *s =
                group_container(h->now.containers, &h->now.holders.tree, group, &kind);
        bool is_table;

        if (!s)
                return;
        is_table = kind == CONTAINER_OPEN_TABLE || kind == CONTAINER_CHAINED_TABLE;
        json_key(j, "container");
        json_object(j);
        json_put_string(j, "kind", kinds[kind]);
        json_put_uint(j, "blocks", s->n);
        json_put_uint(j, "bytes", s->n_bytes);
        json_put_uint(j, is_table ? "entries" : "used_bytes", s->used);
        json_put_uint(j, is_table ? "slots" : "capacity_bytes", s->room);
        json_end(j);
}

static void put_group(struct json *j, const struct holders *h, const struct site_tree *t,
                      uint32_t number, uint32_t parent) {
        const struct site_group *x = &t->groups[number];
        bool is_holders = t == &h->now.holders.tree;
        struct str label = {0}, container = {0};
        uint64_t age_ns = is_holders ? held_graph_age_ns(&h->now, number) : 0;
        double per_s;

        json_object(j);
        json_key(j, "parent");
        if (parent == REACH_NONE)
                json_null(j);
        else
                json_uint(j, parent);
        json_put_uint(j, "group", number);
        holders_put_identity(j, h, &h->now, x);
        holders_add_name(h, &h->now, t, number, true, &label);
        if (is_holders && holders_add_container(h, number, &container))
                str_addf(&label, ": %s", str_text(&container));
        json_put_string(j, "label", str_text(&label));
        str_done(&label);
        str_done(&container);
        json_put_uint(j, "blocks", x->n_blocks);
        json_put_uint(j, "bytes", x->own_bytes);
        json_put_uint(j, "tree_blocks", x->tree_blocks);
        json_put_uint(j, "tree_bytes", x->tree_bytes);
        if (is_holders) {
                json_put_uint(j, "retained_bytes", x->outermost_weight);
                json_key(j, "oldest_s");
                if (age_ns)
                        json_double(j, (double)age_ns / 1e9, 3);
                else
                        json_null(j);
                json_key(j, "blocks_per_s");
                if (holders_rate(h, number, &per_s))
                        json_double(j, per_s, 3);
                else
                        json_null(j);
        }
        if (is_holders) {
                put_container(j, h, number);
                put_root(j, h, number);
        }
        json_end(j);
}

/* Parents before their children; a parent is a number in the list. */
static void put_tree(struct json *j, const char *key, const struct holders *h,
                     const struct site_tree *t) {
        const struct request *q = h->options->view.request;
        uint32_t *row_of = malloc((size_t)t->n * sizeof(row_of[0])), n = 0;
        site_rows rows = {0};

        json_put_uint(j, "groups_in_all", t->n);
        json_key(j, key);
        json_array(j);
        if (row_of &&
            site_tree_rows(t, 0,
                           h->options->is_full ? UINT32_MAX : request_n_top(q, USUAL_GROUPS) + 1,
                           &rows) == 0)
                for (size_t i = 0; i < rows.n; i++) {
                        uint32_t group = rows.items[i].group;

                        if (group == REACH_NONE ||
                            (q->max_depth && rows.items[i].depth > q->max_depth))
                                continue;
                        row_of[group] = n++;
                        put_group(j, h, t, group,
                                  t->groups[group].parent == REACH_NONE
                                          ? REACH_NONE
                                          : row_of[t->groups[group].parent]);
                }
        json_end(j);
        vec_free(&rows);
        free(row_of);
}

static void put_int(struct json *j, const char *key, int64_t v) {
        json_key(j, key);
        json_int(j, v);
}

static void put_growth(struct json *j, const struct holders *h) {
        json_key(j, "growth");
        if (!h->has_before) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_double(j, "from_s", (double)h->before.info.time_ns / 1e9, 6);
        json_key(j, "groups");
        json_array(j);
        for (uint32_t i = 0; i < h->growth.n; i++) {
                const struct growth_row *row = &h->growth.rows[i];

                json_object(j);
                json_key(j, "parent");
                if (row->parent == REACH_NONE)
                        json_null(j);
                else
                        json_uint(j, row->parent);
                if (row->after != REACH_NONE)
                        holders_put_identity(j, h, &h->now,
                                             &h->now.holders.tree.groups[row->after]);
                else
                        holders_put_identity(j, h, &h->before,
                                             &h->before.holders.tree.groups[row->before]);
                put_int(j, "blocks", row->n_blocks);
                put_int(j, "bytes", row->own_bytes);
                put_int(j, "tree_blocks", row->tree_blocks);
                put_int(j, "tree_bytes", row->tree_bytes);
                put_int(j, "retained_bytes", row->retained_bytes);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}

static void put_why(struct json *j, const struct holders *h) {
        json_key(j, "why");
        if (!h->options->why) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_string(j, "function", h->options->why);
        json_put_sum(j, "wanted", h->why.wanted.n_bytes, h->why.wanted.n_blocks);
        json_put_sum(j, "unreachable", h->why.unreachable.n_bytes, h->why.unreachable.n_blocks);
        json_put_sum(j, "freed", h->why.freed.n_bytes, h->why.freed.n_blocks);
        put_tree(j, "paths", h, &h->why.tree);
        json_end(j);
}

void holders_json(FILE *out, const struct holders *h) {
        const struct held_graph *g = &h->now;
        const struct site_group *all = &g->holders.tree.groups[0];
        struct str sentence = {0};
        struct trace_limit missing;
        bool is_missing;
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.holders/1");
        holders_add_sentence(h, true, &sentence);
        json_put_string(&j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_put_uint(&j, "pid", query_view(h->names.q)->processes[g->info.process].start.pid);
        json_key(&j, "recorded");
        json_bool(&j, g->heap.seqs != NULL);
        json_put_uint(&j, "graph", h->graph_idx);
        json_put_double(&j, "at_s", (double)g->info.time_ns / 1e9, 6);
        if (h->peak_bytes) {
                json_put_uint(&j, "end_bytes", h->end_bytes);
                json_put_uint(&j, "peak_bytes", h->peak_bytes);
                json_key(&j, "is_near_peak");
                json_bool(&j, h->is_high);
        }
        json_put_double(&j, "pause_s", (double)g->heap.pause_ns / 1e9, 6);
        is_missing = missing_blocks_find(query_view(h->names.q), g->info.process, &missing);
        json_put_string(&j, "incomplete", is_missing ? missing.text : "");
        json_put_uint(&j, "unexplained_bytes",
                      is_missing && missing.kind == LIMIT_UNSEEN ? missing.bytes : 0);
        json_put_uint(&j, "unread_bytes", g->heap.unread_bytes);
        json_put_uint(&j, "unsettled_blocks", g->heap.n_unsettled);
        json_put_sum(&j, "live", g->all_bytes, g->heap.graph.n_blocks);
        json_put_sum(&j, "held", all->tree_bytes, all->tree_blocks);
        json_put_sum(&j, "held_from_several", g->shared_bytes, g->shared_blocks);
        json_put_sum(&j, "held_by_nothing", g->unheld_bytes, g->unheld_blocks);
        put_tree(&j, "holders", h, &g->holders.tree);
        put_why(&j, h);
        put_growth(&j, h);
        json_end(&j);
}
