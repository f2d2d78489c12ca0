/* SPDX-License-Identifier: MIT */
#include "keep/held_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keep/kept_graph.h"
#include "symbol/symbol.h"

enum {
        MAX_AGED = 256,   /* groups whose age is looked up */
        MAX_INLINED = 32, /* calls at a function's first byte */
};

static uint32_t name_of(void *ctx, uint32_t place) {
        const struct held_graph *g = ctx;

        return g->places.list.items[place].name;
}

/* Types of two graphs are the same if their names are: numbers of texts, 0 where none is known. */
static uint32_t type_of(void *ctx, uint32_t block) {
        const struct held_graph *g = ctx;
        uint32_t type = g->heap.type_of ? g->heap.type_of[block] : 0;

        return type ? g->type_texts[type - 1] : 0;
}

/* "N3app7SessionE" is app::Session; a name that stays mangled would say nothing. */
static void add_class(const char *name, struct str *to) {
        static const char words[] = "typeinfo for ";
        struct str linker = {0};
        char *readable;

        str_addf(&linker, "_ZTI%s", name);
        readable = symbol_demangle(str_text(&linker));
        if (strncmp(readable, words, sizeof(words) - 1) == 0)
                str_add(to, readable + sizeof(words) - 1);
        free(readable);
        str_done(&linker);
}

/* Of kind PLACE_FUNCTION at this address; NULL: none. */
static const struct heap_place *find_function(const struct heap_graph *h, uint64_t address) {
        size_t low = 0, high = h->n_places;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (h->places[mid].address < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        for (; low < h->n_places && h->places[low].address == address; low++)
                if (h->places[low].kind == PLACE_FUNCTION)
                        return &h->places[low];
        return NULL;
}

/* "core::ptr::drop_in_place<T>" and "<T as Trait>::f" are of T; tokio's tables are those of its tasks. Others say nothing. */
static void add_rust_type(const char *function, struct str *to) {
        static const char drop[] = "drop_in_place<", task[] = "tokio::runtime::task::raw::";
        const char *at = strstr(function, drop), *end;

        if (at) {
                at += sizeof(drop) - 1;
                end = strrchr(at, '>');
                str_addn(to, at, end ? (size_t)(end - at) : strlen(at));
        } else if (function[0] == '<' && (end = strstr(function, " as "))) {
                str_addn(to, function + 1, (size_t)(end - function) - 1);
        } else if (strncmp(function, task, sizeof(task) - 1) == 0) {
                str_add(to, "tokio task");
        }
}

bool held_graph_place(const struct held_graph *g, const struct query *q, uint64_t address,
                      struct query_frame *ret) {
        const struct heap_place *p = address ? find_function(&g->heap, address) : NULL;
        struct query_frame frames[MAX_INLINED];
        size_t n = p && p->location < query_view(q)->n_locations
                           ? query_location_frames(q, p->location, frames, MAX_INLINED)
                           : 0;

        if (n == 0 || n > MAX_INLINED)
                return false;
        *ret = frames[n - 1];
        return true;
}

bool held_graph_function(const struct held_graph *g, const struct query *q, uint64_t address,
                         struct query_frame *ret) {
        struct query_frame frame;

        if (!held_graph_place(g, q, address, &frame) || frame.guess || !frame.function[0])
                return false;
        *ret = frame;
        return true;
}

static void add_type_of_function(const struct held_graph *g, const struct query *q,
                                 uint64_t address, struct str *to) {
        struct query_frame frame;

        if (held_graph_function(g, q, address, &frame))
                add_rust_type(frame.function, to);
}

static int name_types(struct held_graph *g, const struct query *q, struct site_texts *texts) {
        struct str name = {0};

        g->type_texts = calloc(MAX(g->heap.n_types, 1u), sizeof(g->type_texts[0]));
        if (!g->type_texts)
                return -ENOMEM;
        for (uint32_t i = 0; i < g->heap.n_types; i++) {
                str_clear(&name);
                if (g->heap.types[i].kind == TYPE_CXX)
                        add_class(g->heap.types[i].name, &name);
                else
                        add_type_of_function(g, q, g->heap.types[i].function, &name);
                if (name.n)
                        g->type_texts[i] = text_pool_add(&texts->pool, str_text(&name));
        }
        str_done(&name);
        return 0;
}

struct aged {
        uint64_t seq;
        uint32_t group;
};

static int by_seq(const void *a, const void *b) {
        const struct aged *x = a, *y = b;

        return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Of the largest groups, when their first block was allocated. */
static int find_ages(struct held_graph *g, struct query *q) {
        const struct site_tree *t = &g->holders.tree;
        uint64_t *first = malloc((size_t)t->n * sizeof(first[0]));
        uint64_t seqs[MAX_AGED], times[MAX_AGED];
        struct aged aged[MAX_AGED];
        site_rows rows = {0};
        size_t n = 0;
        int r;

        g->oldest_ns = malloc((size_t)t->n * sizeof(g->oldest_ns[0]));
        r = first && g->oldest_ns ? site_tree_rows(t, 1, MAX_AGED, &rows) : -ENOMEM;
        for (uint32_t i = 0; r == 0 && i < t->n; i++)
                first[i] = g->oldest_ns[i] = UINT64_MAX;
        for (uint32_t i = 0; r == 0 && g->heap.seqs && i < g->heap.graph.n_blocks; i++)
                if (t->group_of[i] != REACH_NONE)
                        first[t->group_of[i]] = MIN(first[t->group_of[i]], g->heap.seqs[i]);
        for (size_t i = 0; r == 0 && i < rows.n && n < MAX_AGED; i++)
                if (rows.items[i].group != REACH_NONE && first[rows.items[i].group] != UINT64_MAX)
                        aged[n++] = (struct aged){first[rows.items[i].group], rows.items[i].group};
        if (n)
                qsort(aged, n, sizeof(aged[0]), by_seq);
        for (size_t i = 0; i < n; i++)
                seqs[i] = aged[i].seq;
        query_alloc_times(q, seqs, n, MAX_AGED, times);
        for (size_t i = 0; i < n; i++)
                g->oldest_ns[aged[i].group] = times[i];
        vec_free(&rows);
        free(first);
        return r;
}

static void add_up(struct held_graph *g) {
        const struct reach_graph *graph = &g->heap.graph;
        const struct site_tree *t = &g->holders.tree;

        for (uint32_t i = 0; i < graph->n_blocks; i++) {
                uint64_t size = graph->blocks[i].size_bytes;

                g->all_bytes += size;
                if (t->group_of[i] == REACH_NONE) {
                        g->unheld_bytes += size;
                        g->unheld_blocks++;
                }
        }
        for (uint32_t i = t->groups[0].first_child; i != REACH_NONE; i = t->groups[i].next)
                if (t->groups[i].kind == GROUP_BLOCKS) {
                        g->shared_bytes += t->groups[i].tree_bytes;
                        g->shared_blocks += t->groups[i].tree_blocks;
                }
}

/* Where in a variable, or in which frame: as long as one word alone holds all of a group. */
static int find_roots(struct held_graph *g) {
        const struct reach_graph *graph = &g->heap.graph;
        const struct site_tree *t = &g->holders.tree;
        const uint32_t *parent = g->holders.dominators.parent;
        bool *is_mixed = calloc(t->n, sizeof(bool));

        g->root_of_group = malloc((size_t)t->n * sizeof(g->root_of_group[0]));
        if (!g->root_of_group || !is_mixed) {
                free(is_mixed);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < t->n; i++)
                g->root_of_group[i] = REACH_NONE;
        for (uint32_t i = 0; i < graph->n_blocks; i++) {
                uint32_t group = t->group_of[i], above;

                if (group == REACH_NONE || t->groups[t->groups[group].parent].kind != GROUP_PLACE)
                        continue;
                above = parent[i];
                if (above < graph->n_blocks && t->group_of[above] == group)
                        continue; /* held by another of the same group */
                if (above < graph->n_blocks || above >= reach_n_nodes(graph) ||
                    (g->root_of_group[group] != REACH_NONE &&
                     g->root_of_group[group] != above - graph->n_blocks))
                        is_mixed[group] = true;
                else
                        g->root_of_group[group] = above - graph->n_blocks;
        }
        for (uint32_t i = 0; i < t->n; i++)
                if (is_mixed[i])
                        g->root_of_group[i] = REACH_NONE;
        free(is_mixed);
        return 0;
}

/* Of several blocks in a group, the one that retains most is asked. */
static int find_nearest(struct held_graph *g) {
        const struct reach_graph *graph = &g->heap.graph;
        const struct site_tree *t = &g->holders.tree;
        const struct reach_dominators *d = &g->holders.dominators;
        struct nearest_places *of_block = malloc(MAX(graph->n_blocks, 1u) * sizeof(of_block[0]));
        uint64_t *most = calloc(t->n, sizeof(most[0]));
        int r = of_block && most ? nearest_places_find(graph, &g->places, of_block) : -ENOMEM;

        g->nearest_of_group = malloc((size_t)t->n * sizeof(g->nearest_of_group[0]));
        if (!g->nearest_of_group)
                r = -ENOMEM;
        for (uint32_t i = 0; r == 0 && i < t->n; i++)
                g->nearest_of_group[i].of[0] = REACH_NONE;
        for (uint32_t i = 0; r == 0 && i < graph->n_blocks; i++) {
                uint32_t group = t->group_of[i];

                if (d->parent[i] != reach_above_all(graph) || t->groups[group].parent != 0 ||
                    d->retained_bytes[i] < most[group])
                        continue;
                most[group] = d->retained_bytes[i];
                g->nearest_of_group[group] = of_block[i];
        }
        free(of_block);
        free(most);
        return r;
}

enum { MAX_HUB_DEPTH = 64 }; /* a list is deeper */

/* Down the tree of dominators by the heaviest block, as long as one has four fifths of what hangs from the first. */
static int find_hub(struct held_graph *g) {
        const struct reach_graph *graph = &g->heap.graph;
        const struct reach_dominators *d = &g->holders.dominators;
        const struct site_tree *t = &g->holders.tree;
        uint32_t at = REACH_NONE, n_steps = 0, *heaviest;
        uint64_t least;

        g->hub = REACH_NONE;
        if (t->groups[0].first_child == REACH_NONE)
                return 0;
        least = t->groups[t->groups[0].first_child].tree_bytes / 5 * 4;
        heaviest =
                malloc((size_t)d->n * sizeof(heaviest[0])); /* of each node: its heaviest child */
        if (!heaviest)
                return -ENOMEM;
        for (uint32_t i = 0; i < d->n; i++)
                heaviest[i] = REACH_NONE;
        for (uint32_t i = 0; i < d->n; i++)
                if (d->parent[i] != REACH_NONE &&
                    (heaviest[d->parent[i]] == REACH_NONE ||
                     d->retained_bytes[i] > d->retained_bytes[heaviest[d->parent[i]]]))
                        heaviest[d->parent[i]] = i;
        for (uint32_t next = heaviest[reach_above_all(graph)];
             next != REACH_NONE && d->retained_bytes[next] >= least && n_steps <= MAX_HUB_DEPTH;
             next = heaviest[next], n_steps++)
                at = next;
        free(heaviest);
        if (at == REACH_NONE || at >= graph->n_blocks || n_steps > MAX_HUB_DEPTH)
                return 0;
        g->hub = at;
        for (uint32_t i = 0; i < graph->n_blocks; i++)
                g->hub_children += d->parent[i] == at;
        return 0;
}

int held_graph_open(struct held_graph *g, struct query *q, const struct frame_names *names,
                    size_t graph_idx, struct site_texts *texts, struct err *reterr) {
        int r;

        *g = (struct held_graph){0};
        r = kept_graph_read(q, graph_idx, &g->info, &g->heap, reterr);
        if (r < 0)
                return r;
        g->stacks = malloc(MAX(g->heap.graph.n_blocks, 1u) * sizeof(g->stacks[0]));
        if (!g->stacks) {
                held_graph_done(g);
                return err_set(reterr, -ENOMEM, "out of memory");
        }
        for (uint32_t i = 0; i < g->heap.graph.n_blocks; i++)
                g->stacks[i] = g->heap.blocks[i].site;
        if (g->heap.seqs)
                site_texts_replace(texts, names, &g->heap);
        else
                r = site_texts_by_size(texts, &g->heap);
        if (r == 0)
                r = root_places_find(&g->heap, q, g->info.process, texts, &g->places);
        g->keys = (struct site_keys){.type_of = type_of, .name_of = name_of, .ctx = g};
        if (r == 0)
                r = name_types(g, q, texts);
        if (r == 0)
                r = holder_tree_make(&g->heap.graph, &g->places.places, &g->keys, &g->holders);
        if (r == 0) {
                add_up(g);
                r = find_roots(g);
                g->containers = group_containers_find(&g->heap, &g->holders.tree, texts, names);
        }
        if (r == 0 && !g->containers)
                r = -ENOMEM;
        if (r == 0) {
                r = find_nearest(g);
        }
        if (r == 0) {
                r = find_hub(g);
        }
        if (r == 0) {
                r = find_ages(g, q);
        }
        if (r == 0)
                return 0;
        held_graph_done(g);
        return err_set_errno(reterr, r, "cannot find out who holds what");
}

void held_graph_done(struct held_graph *g) {
        free(g->root_of_group);
        free(g->nearest_of_group);
        free(g->oldest_ns);
        free(g->stacks);
        free(g->type_texts);
        free(g->containers);
        holder_tree_done(&g->holders);
        root_places_done(&g->places);
        heap_graph_done(&g->heap);
        *g = (struct held_graph){0};
}

size_t held_graph_newest(struct query *q, uint32_t process, size_t before) {
        for (size_t i = MIN(before, query_n_graphs(q)); i-- > 0;)
                if (process == QUERY_ALL || query_graph(q, i)->process == process)
                        return i;
        return SIZE_MAX;
}

uint64_t held_graph_age_ns(const struct held_graph *g, uint32_t group) {
        uint64_t birth_ns = g->oldest_ns[group];

        return birth_ns >= g->info.time_ns ? 0 : g->info.time_ns - birth_ns;
}
