/* SPDX-License-Identifier: MIT */
#include "task/task_channels.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum { MIN_CHAIN = 16 }; /* fewer are mostly what a channel keeps */

/* Channels that are lists of blocks, by a function that requests one. */
static const struct {
        const char *part, *name;
        uint32_t per_block;
} channels[] = {
        {"tokio::sync::mpsc::list::", "tokio", 32},
        {"tokio::sync::mpsc::block::", "tokio", 32},
        {"std::sync::mpmc::list::", "the standard library", 31},
        {"crossbeam_channel::flavors::list::", "crossbeam", 31},
        {"concurrent_queue::unbounded::", "async-channel", 31},
};

/* One whose messages are in an array that it has from the beginning. */
#define BROADCAST "tokio::sync::broadcast::"

struct looking {
        int channel; /* −1: none */
        bool is_sent, is_unbounded;
};

static bool look_at_frame(void *ctx, const struct query_frame *f) {
        struct looking *l = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(channels) && l->channel < 0; i++)
                if (strstr(f->function, channels[i].part))
                        l->channel = (int)i;
        l->is_sent |= strstr(f->function, "::send") || strstr(f->function, "::try_send");
        l->is_unbounded |= strstr(f->function, "nbounded") != NULL;
        return true;
}

static uint32_t channel_of(const struct tasks *t, uint32_t block, task_channel_list *to) {
        const struct held_graph *g = &t->graph;
        struct looking l = {.channel = -1};
        struct task_channel one;

        query_each_frame(t->names.q, g->stacks[block], look_at_frame, &l);
        if (l.channel < 0 || !l.is_sent)
                return 0;
        one = (struct task_channel){.name = channels[l.channel].name,
                                    .kind = "channel",
                                    .site = g->heap.blocks[block].site,
                                    .stack = g->stacks[block],
                                    .per_block = channels[l.channel].per_block,
                                    .is_unbounded = l.is_unbounded};
        for (uint32_t i = 0; i < to->n; i++)
                if (to->items[i].site == one.site && to->items[i].name == one.name)
                        return i + 1;
        vec_push(to, one);
        return (uint32_t)to->n;
}

/* A block that another one of the same channel holds is counted with it. */
static bool is_outermost(const struct held_graph *g, const struct map *by_stack, uint32_t block,
                         uint64_t channel) {
        const struct reach_dominators *d = &g->holders.dominators;
        uint64_t known;

        for (uint32_t at = d->parent[block]; at != REACH_NONE && at < g->heap.graph.n_blocks;
             at = d->parent[at])
                if (g->stacks[at] != REACH_NO_SITE && map_get(by_stack, g->stacks[at], &known) &&
                    known == channel)
                        return false;
        return true;
}

/* ---- chains: blocks of one channel point to each other ---- */

struct chains {
        const struct held_graph *g;
        struct map by_stack; /* → channel + 1, or 0 */
        uint32_t *
                of; /* of each block: another of its chain; itself: it stands for all; REACH_NONE: it is in none */
        uint32_t *n;      /* of one that stands for all: how many */
        uint32_t *n_from; /* and how many others point to them: channels, mostly */
};

static uint32_t chain_of(struct chains *c, uint32_t block) {
        while (c->of[block] != block)
                block = c->of[block] = c->of[c->of[block]];
        return block;
}

static uint64_t kind_of(const struct chains *c, uint32_t block) {
        uint64_t known = 0;

        if (c->g->stacks[block] != REACH_NO_SITE)
                map_get(&c->by_stack, c->g->stacks[block], &known);
        return known;
}

static void count_from(struct chains *c, uint32_t block) {
        const struct reach_graph *graph = &c->g->heap.graph;
        uint32_t last = REACH_NONE;

        for (uint64_t e = graph->first[block]; e < graph->first[block + 1]; e++) {
                uint32_t to = reach_edge_block(graph->edges[e]);

                if (c->of[to] == REACH_NONE || chain_of(c, to) == last)
                        continue;
                last = chain_of(c, to);
                c->n_from[last]++;
        }
}

static void join_chains(struct chains *c) {
        const struct reach_graph *graph = &c->g->heap.graph;

        for (uint32_t i = 0; i < graph->n_blocks; i++) {
                if (c->of[i] == REACH_NONE)
                        continue;
                for (uint64_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
                        uint32_t to = reach_edge_block(graph->edges[e]);

                        if (c->of[to] != REACH_NONE && kind_of(c, to) == kind_of(c, i))
                                c->of[chain_of(c, to)] = chain_of(c, i);
                }
        }
        for (uint32_t i = 0; i < graph->n_blocks; i++)
                if (c->of[i] != REACH_NONE)
                        c->n[chain_of(c, i)]++;
                else
                        count_from(c, i);
}

/* A channel has one that is being filled, and some that were emptied for what comes next. What is left over in those may lead to blocks of other channels. */
static bool is_long(struct chains *c, uint32_t block) {
        uint32_t chain;

        if (c->of[block] == REACH_NONE)
                return false;
        chain = chain_of(c, block);
        return c->n[chain] / MIN_CHAIN >= MAX(c->n_from[chain], 1u);
}

static void count_chains(struct chains *c, task_channel_list *to) {
        const struct held_graph *g = c->g;

        for (uint32_t i = 0; i < g->heap.graph.n_blocks; i++) {
                struct task_channel *x;

                if (!is_long(c, i))
                        continue;
                x = &to->items[kind_of(c, i) - 1];
                x->n_blocks++;
                if (c->of[i] == i)
                        x->n_channels++;
                else
                        x->n_messages += x->per_block; /* all but one of a chain are full */
                if (g->holders.dominators.retained_bytes[i] == 0)
                        x->bytes += g->heap.blocks[i].size_bytes;
                else if (is_outermost(g, &c->by_stack, i, kind_of(c, i)))
                        x->bytes += g->holders.dominators.retained_bytes[i];
        }
}

/* ---- arrays of messages ---- */

static bool look_for_array(void *ctx, const struct query_frame *f) {
        bool *ret = ctx;

        *ret |= strncmp(f->function, BROADCAST, strlen(BROADCAST)) == 0;
        return !*ret && strncmp(f->function, "tokio::", strlen("tokio::")) != 0;
}

/* How many of the blocks that it alone holds came from one place: a message may have more than one. What a slot kept of a message that is gone is not
 * held by it alone, or was freed. */
static uint64_t count_held(const struct held_graph *g, uint32_t array) {
        const struct reach_graph *graph = &g->heap.graph;
        struct map n_from = {0}, seen = {0};
        uint64_t most = 0;

        for (uint64_t e = graph->first[array]; e < graph->first[array + 1]; e++) {
                uint32_t to = reach_edge_block(graph->edges[e]);
                uint64_t *n;
                bool is_new;

                if (g->holders.dominators.parent[to] != array || g->stacks[to] == REACH_NO_SITE)
                        continue;
                map_put(&seen, to, 0, &is_new);
                if (!is_new)
                        continue;
                n = map_put(&n_from, g->stacks[to], 0, NULL);
                most = MAX(most, ++*n);
        }
        map_done(&n_from);
        map_done(&seen);
        return most;
}

static void find_arrays(const struct tasks *t, task_channel_list *to) {
        const struct held_graph *g = &t->graph;
        struct map by_stack = {0}; /* → is it one of an array? */

        for (uint32_t i = 0; i < g->heap.graph.n_blocks; i++) {
                uint64_t *known, n;
                bool is_new, is_array = false;

                if (g->stacks[i] == REACH_NO_SITE)
                        continue;
                known = map_put(&by_stack, g->stacks[i], 0, &is_new);
                if (is_new) {
                        query_each_frame(t->names.q, g->stacks[i], look_for_array, &is_array);
                        *known = is_array;
                }
                n = *known ? count_held(g, i) : 0;
                if (n >= MIN_CHAIN)
                        vec_push(to, ((struct task_channel){
                                             .name = "tokio",
                                             .kind = "broadcast channel",
                                             .site = g->heap.blocks[i].site,
                                             .stack = g->stacks[i],
                                             .n_channels = 1,
                                             .n_messages = n,
                                             .bytes = g->holders.dominators.retained_bytes[i],
                                     }));
        }
        map_done(&by_stack);
}

void task_channels_find(const struct tasks *t, task_channel_list *ret) {
        const struct held_graph *g = &t->graph;
        size_t n = MAX(g->heap.graph.n_blocks, 1u);
        struct chains c = {.g = g};

        if (!g->heap.seqs)
                return;
        c.of = malloc(n * sizeof(c.of[0]));
        c.n = calloc(n, sizeof(c.n[0]));
        c.n_from = calloc(n, sizeof(c.n_from[0]));
        if (!c.of || !c.n || !c.n_from)
                abort();
        for (uint32_t i = 0; i < g->heap.graph.n_blocks; i++) {
                uint64_t *known;
                bool is_new;

                c.of[i] = REACH_NONE;
                if (g->stacks[i] == REACH_NO_SITE)
                        continue;
                known = map_put(&c.by_stack, g->stacks[i], 0, &is_new);
                if (is_new)
                        *known = channel_of(t, i, ret);
                if (*known)
                        c.of[i] = i;
        }
        if (ret->n) {
                join_chains(&c);
                count_chains(&c, ret);
        }
        find_arrays(t, ret);
        map_done(&c.by_stack);
        free(c.of);
        free(c.n);
        free(c.n_from);
}
