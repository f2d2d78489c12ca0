/* SPDX-License-Identifier: MIT */
#include "sql/space_graph.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "keep/missing_blocks.h"
#include "query/spent_time.h"

enum { BYTES_OF_A_BLOCK = 12 }; /* in a trace, about */

static int no_memory(struct err *reterr) {
        return err_set(reterr, -ENOMEM, "out of memory");
}

static void graph_free(struct space_graph *g) {
        free(g->place_of_root);
        free(g->is_borrower);
        free(g->first_to);
        free(g->by_to);
        free(g->born_ns);
        free(g->retained_blocks);
        free((void *)g->place_of_group);
        held_graph_done(&g->held);
        kept_graph_done(&g->all);
        site_texts_done(&g->texts);
        free(g);
}

struct space_graph *space_graph_unref(struct space_graph *g) {
        if (g && --g->n_users == 0)
                graph_free(g);
        return NULL;
}

void space_graphs_done(struct sql_space *s) {
        for (size_t i = 0; i < SPACE_MAX_GRAPHS; i++)
                s->graphs[i] = space_graph_unref(s->graphs[i]);
}

/* ---- roots ------------------------------------------------------------------------------------- */

struct root_order {
        const struct reach_root *root;
        uint32_t i;
};

static int by_root(const void *a, const void *b) {
        const struct root_order *x = a, *y = b;

        if (x->root->kind != y->root->kind)
                return x->root->kind < y->root->kind ? -1 : 1;
        if (x->root->owner != y->root->owner)
                return x->root->owner < y->root->owner ? -1 : 1;
        if (x->root->begin != y->root->begin)
                return x->root->begin < y->root->begin ? -1 : 1;
        return x->i < y->i ? -1 : x->i > y->i;
}

static struct root_order *roots_in_order(const struct heap_graph *h) {
        struct root_order *order = malloc(MAX(h->graph.n_roots, 1u) * sizeof(*order));

        for (uint32_t i = 0; order && i < h->graph.n_roots; i++)
                order[i] = (struct root_order){&h->roots[i], i};
        if (order && h->graph.n_roots)
                qsort(order, h->graph.n_roots, sizeof(*order), by_root);
        return order;
}

/* The held graph has the same roots, sorted by their places: the two are matched by what they are. */
static int match_roots(struct space_graph *g) {
        const struct reach_graph *held = &g->held.heap.graph;
        uint32_t n = g->all.heap.graph.n_roots;
        struct root_order *x = roots_in_order(&g->all.heap), *y = roots_in_order(&g->held.heap);
        int r;

        g->place_of_root = calloc(MAX(n, 1u), sizeof(g->place_of_root[0]));
        g->is_borrower = calloc(MAX(n, 1u), sizeof(g->is_borrower[0]));
        r = x && y && g->place_of_root && g->is_borrower ? 0 : -ENOMEM;
        for (uint32_t i = 0; r == 0 && i < n; i++) {
                uint32_t root = held->n_blocks + y[i].i;

                g->place_of_root[x[i].i] = g->held.places.places.of_root[y[i].i];
                g->is_borrower[x[i].i] = held->first[root] == held->first[root + 1];
        }
        free(x);
        free(y);
        return r;
}

/* ---- opening ----------------------------------------------------------------------------------- */

static int graph_open(struct space_graph *g, struct sql_space *s, struct err *reterr) {
        struct frame_names names = {s->trace.q, s->trace.names, false};
        int r;

        g->n_users = 1;
        site_texts_init(&g->texts);
        g->texts.has_lines = true;
        r = held_graph_open(&g->held, s->trace.q, &names, g->graph_idx, &g->texts, reterr);
        if (r == 0)
                r = kept_graph_read(s->trace.q, g->graph_idx, &g->all.info, &g->all.heap, reterr);
        if (r < 0)
                return r;
        r = leak_classes_find(&g->all.heap.graph, &g->all.classes);
        if (r == 0)
                r = match_roots(g);
        return r < 0 ? no_memory(reterr) : 0;
}

static int graph_number(struct sql_space *s, sqlite3_value *number, size_t *ret,
                        struct err *reterr) {
        size_t n = query_n_graphs(s->trace.q);
        int64_t i;

        if (number && sqlite3_value_type(number) != SQLITE_NULL) {
                i = sqlite3_value_int64(number);
                if (sqlite3_value_numeric_type(number) != SQLITE_INTEGER || i < 0 ||
                    (uint64_t)i >= n)
                        return err_set(reterr, -ENOENT,
                                       "there is no graph '%.40s': SELECT id FROM graphs has "
                                       "those that the trace has",
                                       (const char *)sqlite3_value_text(number));
                *ret = (size_t)i;
                return 0;
        }
        *ret = held_graph_newest(s->trace.q, s->process, SIZE_MAX);
        if (*ret != SIZE_MAX)
                return 0;
        if (query_is_imported(s->trace.q))
                return err_set(
                        reterr, -ENOENT,
                        "%s was made by another tool, and has no reference graph: record the program with 'silt run --graph-every 1m'",
                        s->trace.path);
        return err_set(reterr, -ENOENT,
                       "%s has no reference graph%s: take one with "
                       "'silt snapshot PID --graph', or record with --leaks or --graph-every 1m",
                       s->trace.path, n ? " of that process" : "");
}

int space_graph_get(struct sql_space *s, struct sqlite3_value *number, struct space_graph **ret,
                    struct err *reterr) {
        size_t i, oldest = 0;
        struct space_graph *g;
        int r = graph_number(s, number, &i, reterr);

        if (r < 0)
                return r;
        s->n_graph_uses++;
        for (size_t k = 0; k < SPACE_MAX_GRAPHS; k++) {
                g = s->graphs[k];
                if (g && g->graph_idx == i) {
                        g->last_used = s->n_graph_uses;
                        g->n_users++;
                        *ret = g;
                        return 0;
                }
                if (!g || (s->graphs[oldest] && g->last_used < s->graphs[oldest]->last_used))
                        oldest = k;
        }
        g = calloc(1, sizeof(*g));
        if (!g)
                return no_memory(reterr);
        g->graph_idx = i;
        s->graphs[oldest] = space_graph_unref(s->graphs[oldest]);
        r = graph_open(g, s, reterr);
        if (r < 0) {
                graph_free(g);
                return r;
        }
        g->last_used = s->n_graph_uses;
        g->n_users++;
        s->graphs[oldest] = g;
        *ret = g;
        return 0;
}

double space_graph_n_blocks(struct sql_space *s) {
        size_t i = held_graph_newest(s->trace.q, s->process, SIZE_MAX);

        return i == SIZE_MAX ? 1 : (double)query_graph(s->trace.q, i)->n_bytes / BYTES_OF_A_BLOCK;
}

/* ---- doubts ------------------------------------------------------------------------------------ */

/* "Incomplete: …." without the words that lead over to figures. */
static void add_missing(const struct sql_space *s, const struct space_graph *g, struct str *to) {
        static const char over[] = " Of what silt saw: ";
        struct str text = {0};
        size_t n;

        missing_blocks_add(s->view, g->held.info.process, &text);
        n = text.n >= sizeof(over) - 1 ? text.n - (sizeof(over) - 1) : 0;
        if (n && strcmp(str_text(&text) + n, over) == 0)
                text.bytes[n] = '\0';
        if (n && !strstr(str_text(to), str_text(&text)))
                str_addf(to, "%s%s", to->n ? " " : "", str_text(&text));
        str_done(&text);
}

void space_graph_add_doubts(const struct sql_space *s, struct str *to) {
        struct unit_text t;

        for (size_t i = 0; i < SPACE_MAX_GRAPHS; i++) {
                const struct space_graph *g = s->graphs[i];

                if (!g)
                        continue;
                add_missing(s, g, to);
                if (g->all.heap.unread_bytes)
                        str_addf(to,
                                 "%sGraph %zu: %s of memory could not be read, so pointers may "
                                 "be missing.",
                                 to->n ? " " : "", g->graph_idx,
                                 unit_bytes(&t, g->all.heap.unread_bytes));
        }
}

/* ---- more of it -------------------------------------------------------------------------------- */

int space_graph_index_to(struct space_graph *g, struct err *reterr) {
        const struct reach_graph *graph = &g->all.heap.graph;
        uint64_t n_edges = reach_n_edges(graph), *at;

        if (g->by_to)
                return 0;
        at = calloc((size_t)graph->n_blocks + 2, sizeof(at[0]));
        g->by_to = malloc(MAX(n_edges, (uint64_t)1) * sizeof(g->by_to[0]));
        if (!at || !g->by_to) {
                free(at);
                free(g->by_to);
                g->by_to = NULL;
                return no_memory(reterr);
        }
        /* one place further on: filling moves each begin to where the next one is */
        for (uint64_t e = 0; e < n_edges; e++)
                at[reach_edge_block(graph->edges[e]) + 2]++;
        for (uint32_t i = 1; i < graph->n_blocks; i++)
                at[i + 1] += at[i];
        for (uint64_t e = 0; e < n_edges; e++)
                g->by_to[at[reach_edge_block(graph->edges[e]) + 1]++] = e;
        g->first_to = at;
        return 0;
}

struct birth_order {
        uint64_t seq;
        uint32_t block;
};

static int by_seq(const void *a, const void *b) {
        const struct birth_order *x = a, *y = b;

        return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int space_graph_find_births(struct space_graph *g, struct sql_space *s, struct err *reterr) {
        const struct heap_graph *h = &g->all.heap;
        uint32_t n = h->graph.n_blocks;
        struct birth_order *order;
        uint64_t *seqs, *times;

        if (g->born_ns)
                return 0;
        g->born_ns = malloc(MAX(n, 1u) * sizeof(g->born_ns[0]));
        order = malloc(MAX(n, 1u) * sizeof(*order));
        seqs = calloc(MAX(n, 1u), sizeof(seqs[0]));
        times = malloc(MAX(n, 1u) * sizeof(times[0]));
        if (!g->born_ns || !order || !seqs || !times) {
                free(g->born_ns);
                g->born_ns = NULL;
                n = 0;
        }
        for (uint32_t i = 0; i < n; i++)
                order[i] = (struct birth_order){h->seqs ? h->seqs[i] : HEAP_NO_SEQ, i};
        if (n)
                qsort(order, n, sizeof(*order), by_seq);
        for (uint32_t i = 0; i < n; i++)
                seqs[i] = order[i].seq;
        query_alloc_times(s->trace.q, seqs, n, SIZE_MAX, times);
        for (uint32_t i = 0; i < n; i++)
                g->born_ns[order[i].block] = seqs[i] == HEAP_NO_SEQ ? UINT64_MAX : times[i];
        free(order);
        free(seqs);
        free(times);
        return g->born_ns ? 0 : no_memory(reterr);
}

/* How many blocks each node dominates, itself counted if it is one: leaves first. */
static int count_dominated(const struct reach_graph *graph, const struct reach_dominators *d,
                           uint64_t *ret) {
        uint32_t *n_children = calloc(d->n, sizeof(n_children[0]));
        uint32_t *leaves = malloc((size_t)d->n * sizeof(leaves[0]));
        uint32_t n = 0;

        if (!n_children || !leaves) {
                free(n_children);
                free(leaves);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < d->n; i++) {
                ret[i] = i < graph->n_blocks && d->parent[i] != REACH_NONE;
                if (d->parent[i] != REACH_NONE)
                        n_children[d->parent[i]]++;
        }
        for (uint32_t i = 0; i < d->n; i++)
                if (n_children[i] == 0)
                        leaves[n++] = i;
        for (uint32_t i = 0; i < n; i++) {
                uint32_t parent = d->parent[leaves[i]];

                if (parent == REACH_NONE)
                        continue;
                ret[parent] += ret[leaves[i]];
                if (--n_children[parent] == 0)
                        leaves[n++] = parent;
        }
        free(n_children);
        free(leaves);
        return 0;
}

/* The tree once more, weighed by blocks instead of bytes: its groups are the same. */
int space_graph_find_retained_blocks(struct space_graph *g, struct err *reterr) {
        const struct reach_graph *graph = &g->held.heap.graph;
        const struct reach_dominators *d = &g->held.holders.dominators;
        struct site_tree tree = {0};
        uint64_t *n_dominated, *found;
        int r;

        if (g->retained_blocks)
                return 0;
        n_dominated = malloc((size_t)d->n * sizeof(n_dominated[0]));
        found = malloc((size_t)g->held.holders.tree.n * sizeof(found[0]));
        r = n_dominated && found ? count_dominated(graph, d, n_dominated) : -ENOMEM;
        if (r == 0)
                r = site_tree_make(&(struct site_tree_request){.g = graph,
                                                               .parent = d->parent,
                                                               .n_nodes = d->n,
                                                               .keys = &g->held.keys,
                                                               .weight = n_dominated},
                                   &tree);
        for (uint32_t i = 0; r == 0 && i < tree.n; i++)
                found[i] = tree.groups[i].outermost_weight;
        site_tree_done(&tree);
        free(n_dominated);
        if (r < 0) {
                free(found);
                return no_memory(reterr);
        }
        g->retained_blocks = found;
        return 0;
}

int space_graph_find_places(struct space_graph *g, struct err *reterr) {
        const struct site_tree *t = &g->held.holders.tree;
        const struct root_place **by_name, **found;
        size_t n_names = g->texts.pool.items.n;

        if (g->place_of_group)
                return 0;
        by_name = calloc(MAX(n_names, (size_t)1), sizeof(by_name[0]));
        found = calloc(t->n, sizeof(found[0]));
        if (!by_name || !found) {
                free((void *)by_name);
                free((void *)found);
                return no_memory(reterr);
        }
        /* the first of a name, as silt holders takes it */
        for (size_t i = g->held.places.list.n; i-- > 0;)
                by_name[g->held.places.list.items[i].name] = &g->held.places.list.items[i];
        for (uint32_t i = 0; i < t->n; i++)
                if (t->groups[i].kind == GROUP_PLACE)
                        found[i] = by_name[t->groups[i].site];
        free((void *)by_name);
        g->place_of_group = found;
        return 0;
}
