/* SPDX-License-Identifier: MIT */
#include "reach/settled_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "reach/leak_classes.h"

int loose_find(const struct heap_graph *h, loose_list *ret) {
        struct leak_classes classes;
        int r = leak_classes_find(&h->graph, &classes);

        if (r < 0)
                return r;
        for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                if (classes.of_block[i] != LEAK_REACHABLE)
                        vec_push(ret, (struct loose_block){h->graph.blocks[i].address,
                                                           h->graph.blocks[i].size_bytes,
                                                           classes.of_block[i] != LEAK_POSSIBLE});
        leak_classes_done(&classes);
        return 0;
}

bool loose_any_lost(const loose_list *l) {
        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].is_lost)
                        return true;
        return false;
}

void loose_keep_common(loose_list *l, const loose_list *other) {
        size_t n = 0, k = 0;

        for (size_t i = 0; i < l->n; i++) {
                const struct loose_block *a = &l->items[i], *b;

                while (k < other->n && other->items[k].address < a->address)
                        k++;
                b = k < other->n ? &other->items[k] : NULL;
                if (b && b->address == a->address && b->size_bytes == a->size_bytes &&
                    (b->is_lost || !a->is_lost))
                        l->items[n++] = *a;
        }
        l->n = n;
}

/* The numbers of blocks when some have gone; REACH_MAX_BLOCKS: it has. */
static uint32_t *renumber(const struct heap_graph *h, const loose_list *loose, uint64_t *ret_blocks,
                          uint64_t *ret_bytes) {
        uint32_t *now = calloc(MAX(h->graph.n_blocks, 1u), sizeof(*now)), n = 0;
        loose_list own = {0};
        size_t at = 0, kept = 0;

        if (!now || loose_find(h, &own) < 0) {
                free(now);
                return NULL;
        }
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                const struct reach_block *b = &h->graph.blocks[i];
                bool is_loose = at < own.n && own.items[at].address == b->address;

                at += is_loose;
                while (is_loose && kept < loose->n && loose->items[kept].address < b->address)
                        kept++;
                if (!is_loose || (kept < loose->n && loose->items[kept].address == b->address)) {
                        now[i] = n++;
                        continue;
                }
                now[i] = REACH_MAX_BLOCKS;
                ++*ret_blocks;
                *ret_bytes += b->size_bytes;
        }
        vec_free(&own);
        return now;
}

static void move_edges(struct reach_graph *g, const uint32_t *now) {
        uint64_t n = 0;
        uint32_t node = 0;

        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                uint64_t begin = g->first[i], end = g->first[i + 1];

                if (i < g->n_blocks && now[i] == REACH_MAX_BLOCKS)
                        continue;
                g->first[node++] = n; /* at or before begin */
                for (uint64_t e = begin; e < end; e++) {
                        uint32_t to = now[reach_edge_block(g->edges[e])];

                        if (to != REACH_MAX_BLOCKS)
                                g->edges[n++] = reach_edge_make(to, reach_edge_kind(g->edges[e]));
                }
        }
        g->first[node] = n;
}

int settle_graph(struct heap_graph *h, const loose_list *loose, uint64_t *ret_blocks,
                 uint64_t *ret_bytes) {
        uint32_t *now, n = 0;

        *ret_blocks = *ret_bytes = 0;
        now = renumber(h, loose, ret_blocks, ret_bytes);
        if (!now)
                return -ENOMEM;
        if (*ret_blocks) {
                move_edges(&h->graph, now);
                for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                        if (now[i] == REACH_MAX_BLOCKS)
                                continue;
                        h->blocks[now[i]] = h->blocks[i];
                        if (h->type_of)
                                h->type_of[now[i]] = h->type_of[i];
                        if (h->seqs)
                                h->seqs[now[i]] = h->seqs[i];
                }
                h->graph.n_blocks -= (uint32_t)*ret_blocks;
                for (uint32_t i = 0; i < h->n_containers; i++)
                        if (now[h->containers[i].block] != REACH_MAX_BLOCKS) {
                                h->containers[n] = h->containers[i];
                                h->containers[n++].block = now[h->containers[i].block];
                        }
                h->n_containers = n;
                n = 0;
                for (uint32_t i = 0; i < h->n_heads; i++)
                        if (now[h->heads[i].block] != REACH_MAX_BLOCKS) {
                                h->heads[n] = h->heads[i];
                                h->heads[n++].block = now[h->heads[i].block];
                        }
                h->n_heads = n;
        }
        free(now);
        return 0;
}
