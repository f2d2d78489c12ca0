/* SPDX-License-Identifier: MIT */
#include "keep/held_by.h"

#include <stdlib.h>

#include "keep/holders_write.h"

enum { MAX_SHOWN = 3 }; /* holders between the place and the blocks */

struct held_by {
        struct holders holders; /* names, texts and the graph alone */
};

struct held_by *held_by_new(struct query *q, const struct frame_names *names, uint32_t process) {
        size_t graph = held_graph_newest(q, process, SIZE_MAX);
        struct held_by *h = graph == SIZE_MAX ? NULL : calloc(1, sizeof(*h));
        struct err unsaid = {0};

        if (!h)
                return NULL;
        h->holders.names = *names;
        site_texts_init(&h->holders.texts);
        h->holders.texts.has_lines = true;
        if (held_graph_open(&h->holders.now, q, names, graph, &h->holders.texts, &unsaid) < 0)
                return held_by_free(h);
        return h;
}

struct held_by *held_by_free(struct held_by *h) {
        if (!h)
                return NULL;
        held_graph_done(&h->holders.now);
        site_texts_done(&h->holders.texts);
        free(h);
        return NULL;
}

/* The group that has most of the site's blocks; REACH_NONE: none has half of them. What few blocks hang on says nothing of the others. */
static uint32_t find_group(const struct held_graph *g, uint32_t site) {
        const struct site_tree *t = &g->holders.tree;
        uint32_t best = REACH_NONE;
        uint64_t n_blocks = 0;

        for (uint32_t i = 0; i < t->n; i++)
                if (t->groups[i].kind == GROUP_BLOCKS && t->groups[i].site == site &&
                    (best == REACH_NONE || t->groups[i].n_blocks > t->groups[best].n_blocks))
                        best = i;
        for (uint32_t i = 0; i < g->heap.graph.n_blocks; i++)
                n_blocks += g->heap.blocks[i].site == site;
        return best != REACH_NONE && t->groups[best].n_blocks >= n_blocks - n_blocks / 2
                       ? best
                       : REACH_NONE;
}

bool held_by_add(struct held_by *h, uint32_t stack, bool utf8, struct str *to) {
        const struct site_tree *t = &h->holders.now.holders.tree;
        uint32_t site = site_texts_of(&h->holders.texts, &h->holders.names, stack);
        uint32_t group = site == REACH_NO_SITE ? REACH_NONE : find_group(&h->holders.now, site);
        uint32_t way[HOLDERS_MAX_WAY], n = 0;

        for (uint32_t i = group; i != REACH_NONE && i != 0 && n < HOLDERS_MAX_WAY;
             i = t->groups[i].parent)
                way[n++] = i;
        if (!n)
                return false;
        holders_add_first(&h->holders, way[n - 1], n > 1 ? way[n - 2] : REACH_NONE, utf8, to);
        if (t->groups[way[n - 1]].kind == GROUP_PLACE)
                n--;
        for (uint32_t i = n; i-- > 1;) {
                if (i > MAX_SHOWN) {
                        str_add(to, utf8 ? " → …" : " -> ..");
                        i = MAX_SHOWN + 1;
                        continue;
                }
                str_add(to, utf8 ? " → " : " -> ");
                holders_add_name(&h->holders, &h->holders.now, t, way[i], utf8, to);
        }
        return true;
}
