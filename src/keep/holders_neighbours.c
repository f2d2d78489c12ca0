/* SPDX-License-Identifier: MIT */
/* What a click on a holder asks for: its neighbours. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/units.h"
#include "keep/holders_write.h"
#include "reach/neighbours.h"

enum { MAX_ROWS = 100 }; /* of each side */

struct answer {
        const struct holders *h;
        const struct site_tree *tree;
        uint32_t group;
        struct neighbours found;
};

/* Nodes of the group: blocks, and of a place the words that point. */
static bool *nodes_of(const struct answer *a) {
        const struct reach_graph *g = &a->h->now.heap.graph;
        bool *ret = calloc(MAX(reach_n_nodes(g), 1u), sizeof(bool));

        for (uint32_t i = 0; ret && i < reach_n_nodes(g); i++)
                ret[i] = a->tree->group_of[i] == a->group;
        return ret;
}

static struct site_group group_of(const struct neighbour *n) {
        return (struct site_group){.kind = n->kind, .site = n->site, .type = n->type};
}

/* ---- the sentence ------------------------------------------------------------------------------------------ */

static void add_who(const struct answer *a, const struct neighbour *n, struct str *to) {
        struct site_group x = group_of(n);

        holders_add_group(a->h, &x, true, to);
}

static void add_others(const neighbour_list *list, struct str *to) {
        struct unit_text a;

        if (list->n > 1)
                str_addf(to, " and %s other%s", unit_count(&a, list->n - 1), unit_s(list->n - 1));
}

static void add_held_by(const struct answer *a, struct str *to) {
        const struct site_group *x = &a->tree->groups[a->group];
        const neighbour_list *list = &a->found.held_by;

        if (x->kind == GROUP_PLACE)
                return;
        if (list->n) {
                str_add(to, x->n_blocks == 1 ? "It is pointed to by " : "They are pointed to by ");
                add_who(a, &list->items[0], to);
                add_others(list, to);
        } else {
                str_add(to, x->n_blocks == 1 ? "Nothing else points to it"
                                             : "Nothing else points to them");
        }
        if (a->found.among.n_to)
                str_add(to, x->n_blocks == 1 ? ", and by itself" : ", and by each other");
        str_add(to, ". ");
}

static void add_holds(const struct answer *a, struct str *to) {
        const struct site_group *x = &a->tree->groups[a->group];
        const neighbour_list *list = &a->found.holds;
        const char *who = x->kind == GROUP_PLACE || x->n_blocks == 1 ? "It points" : "They point";
        struct unit_text n, bytes;

        if (!list->n) {
                str_addf(to, "%s to nothing%s.", who, a->found.among.n_to ? " else" : "");
                return;
        }
        str_addf(to, "%s to %s block%s of ", who, unit_count(&n, list->items[0].n_to),
                 unit_s(list->items[0].n_to));
        add_who(a, &list->items[0], to);
        str_addf(to, ", %s", unit_bytes(&bytes, list->items[0].to_bytes));
        if (list->n > 1)
                str_addf(to, ", and to %s other%s", unit_count(&n, list->n - 1),
                         unit_s(list->n - 1));
        str_add(to, ".");
}

static void add_sentence(const struct answer *a, struct str *to) {
        const struct site_group *x = &a->tree->groups[a->group];
        struct unit_text n, bytes;

        if (x->kind == GROUP_BLOCKS)
                str_addf(to, "%s block%s of ", unit_count(&n, x->n_blocks), unit_s(x->n_blocks));
        holders_add_group(a->h, x, true, to);
        if (x->kind == GROUP_BLOCKS)
                str_addf(to, ", %s", unit_bytes(&bytes, x->own_bytes));
        str_add(to, ". ");
        add_held_by(a, to);
        add_holds(a, to);
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void put_counts(struct json *j, const struct neighbour *n) {
        json_put_uint(j, "from", n->n_from);
        json_put_uint(j, "to", n->n_to);
        json_put_uint(j, "to_bytes", n->to_bytes);
}

static void put_label(struct json *j, const struct answer *a, const struct site_group *x) {
        struct str label = {0};

        holders_put_identity(j, a->h, &a->h->now, x);
        holders_add_group(a->h, x, true, &label);
        json_put_string(j, "label", str_text(&label));
        str_done(&label);
}

static void put_side(struct json *j, const struct answer *a, const char *key, const char *number,
                     const neighbour_list *list) {
        json_put_uint(j, number, list->n);
        json_key(j, key);
        json_array(j);
        for (size_t i = 0; i < MIN(list->n, (size_t)MAX_ROWS); i++) {
                struct site_group x = group_of(&list->items[i]);

                json_object(j);
                put_label(j, a, &x);
                put_counts(j, &list->items[i]);
                json_end(j);
        }
        json_end(j);
}

static void write_answer(FILE *out, const struct answer *a) {
        const struct site_group *x = &a->tree->groups[a->group];
        struct str sentence = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.neighbours/1");
        add_sentence(a, &sentence);
        json_put_string(&j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_put_uint(&j, "graph", a->h->graph_idx);
        json_put_uint(&j, "group", a->group);
        put_label(&j, a, x);
        json_put_uint(&j, "blocks", x->n_blocks);
        json_put_uint(&j, "bytes", x->own_bytes);
        json_key(&j, "among");
        json_object(&j);
        put_counts(&j, &a->found.among);
        json_end(&j);
        put_side(&j, a, "held_by", "held_by_in_all", &a->found.held_by);
        put_side(&j, a, "holds", "holds_in_all", &a->found.holds);
        json_end(&j);
}

static int find(struct answer *a, struct err *reterr) {
        const struct held_graph *g = &a->h->now;
        bool *is_in;
        int r;

        if (a->group == 0 || a->group >= a->tree->n)
                return err_about(reterr, "group",
                                 err_set(reterr, -EINVAL, "there is no group %u in the answer",
                                         a->group));
        is_in = nodes_of(a);
        r = is_in ? neighbours_find(&g->heap.graph, &g->places.places, &g->keys, is_in, &a->found)
                  : -ENOMEM;
        free(is_in);
        return r < 0 ? err_set_errno(reterr, r, "cannot find the neighbours") : 0;
}

int holders_write_neighbours(FILE *out, struct query *q, struct names *names,
                             const struct holders_options *o, const struct holders_neighbours *of,
                             struct err *reterr) {
        struct holders h = {.options = o, .names = {.q = q, .names = names, .is_full = o->is_full}};
        struct answer a = {.h = &h, .group = of->group};
        int r = holders_open_one(&h, q, of->graph, reterr);

        a.tree = o->why ? &h.why.tree : &h.now.holders.tree;
        if (r == 0)
                r = find(&a, reterr);
        if (r == 0)
                write_answer(out, &a);
        neighbours_done(&a.found);
        holders_done(&h);
        return r;
}
