/* SPDX-License-Identifier: MIT */
#include "reach/leak_classes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { UNREACHED = N_LEAK_CLASSES };

struct marking {
        const struct reach_graph *g;
        struct leak_classes *c;
        uint32_t *stack; /* a block comes onto it once, in one of the three passes */
        uint32_t n_stack;
};

static void follow(struct marking *m, uint32_t node,
                   void (*visit)(struct marking *, reach_edge, uint32_t), uint32_t with) {
        for (uint64_t i = m->g->first[node]; i < m->g->first[node + 1]; i++)
                visit(m, m->g->edges[i], with);
}

static void drain(struct marking *m, void (*visit)(struct marking *, reach_edge, uint32_t),
                  uint32_t with) {
        while (m->n_stack)
                follow(m, m->stack[--m->n_stack], visit, with);
}

/* From something reachable: by a pointer to the first byte, or one as good. */
static void reach(struct marking *m, reach_edge e, uint32_t unused) {
        uint32_t to = reach_edge_block(e);

        (void)unused;
        if (reach_edge_kind(e) == EDGE_INTERIOR || m->c->of_block[to] == LEAK_REACHABLE)
                return;
        m->c->of_block[to] = LEAK_REACHABLE;
        m->stack[m->n_stack++] = to;
}

static void reach_maybe(struct marking *m, reach_edge e, uint32_t unused) {
        uint32_t to = reach_edge_block(e);

        (void)unused;
        if (m->c->of_block[to] != UNREACHED)
                return;
        m->c->of_block[to] = LEAK_POSSIBLE;
        m->stack[m->n_stack++] = to;
}

/* Lost with the block `leader`; who led others until now brings them along. */
static void lose_with(struct marking *m, reach_edge e, uint32_t leader) {
        struct leak_classes *c = m->c;
        uint32_t to = reach_edge_block(e);

        if (to == leader || (c->of_block[to] != UNREACHED && c->of_block[to] != LEAK_DEFINITE))
                return;
        if (c->of_block[to] == UNREACHED)
                m->stack[m->n_stack++] = to;
        c->of_block[to] = LEAK_INDIRECT;
        c->indirect_bytes[leader] += m->g->blocks[to].size_bytes + c->indirect_bytes[to];
        c->indirect_blocks[leader] += 1 + c->indirect_blocks[to];
        c->indirect_bytes[to] = c->indirect_blocks[to] = 0;
}

static void mark_reachable(struct marking *m) {
        const struct reach_graph *g = m->g;

        for (uint32_t i = g->n_blocks; i < reach_n_nodes(g); i++) {
                follow(m, i, reach, 0);
                drain(m, reach, 0);
        }
        /* what is pointed into by anything reachable, and all that follows */
        for (uint32_t i = 0; i < reach_n_nodes(g); i++)
                if (i >= g->n_blocks || m->c->of_block[i] == LEAK_REACHABLE) {
                        follow(m, i, reach_maybe, 0);
                        drain(m, reach_maybe, 0);
                }
}

static void mark_lost(struct marking *m) {
        for (uint32_t i = 0; i < m->g->n_blocks; i++) {
                if (m->c->of_block[i] != UNREACHED)
                        continue;
                m->c->of_block[i] = LEAK_DEFINITE;
                follow(m, i, lose_with, i);
                drain(m, lose_with, i);
        }
}

static void add_up(const struct reach_graph *g, struct leak_classes *c) {
        for (uint32_t i = 0; i < g->n_blocks; i++) {
                c->blocks[c->of_block[i]]++;
                c->bytes[c->of_block[i]] += g->blocks[i].size_bytes;
        }
}

/* Counts what is reachable by a heuristic alone; `best` has room for a byte of each block. */
static void count_rules(const struct reach_graph *g, struct leak_classes *c, uint8_t *best) {
        memset(best, N_REACH_EDGE_KINDS, g->n_blocks);
        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                if (i < g->n_blocks && c->of_block[i] != LEAK_REACHABLE)
                        continue;
                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                        uint8_t *b = &best[reach_edge_block(g->edges[e])];
                        uint8_t kind = (uint8_t)reach_edge_kind(g->edges[e]);

                        if (kind != EDGE_INTERIOR && kind < *b)
                                *b = kind;
                }
        }
        for (uint32_t i = 0; i < g->n_blocks; i++)
                if (c->of_block[i] == LEAK_REACHABLE && best[i] != EDGE_START) {
                        c->by_rule_blocks[best[i]]++;
                        c->by_rule_bytes[best[i]] += g->blocks[i].size_bytes;
                }
}

int leak_classes_find(const struct reach_graph *g, struct leak_classes *ret) {
        struct leak_classes c = {0};
        size_t n = MAX(g->n_blocks, 1u);
        struct marking m = {.g = g, .c = &c, .stack = malloc(n * sizeof(*m.stack))};

        c.of_block = malloc(n);
        c.indirect_bytes = calloc(n, sizeof(*c.indirect_bytes));
        c.indirect_blocks = calloc(n, sizeof(*c.indirect_blocks));
        if (!m.stack || !c.of_block || !c.indirect_bytes || !c.indirect_blocks) {
                free(m.stack);
                leak_classes_done(&c);
                return -ENOMEM;
        }
        memset(c.of_block, UNREACHED, n);
        mark_reachable(&m);
        mark_lost(&m);
        add_up(g, &c);
        count_rules(g, &c, (uint8_t *)m.stack);
        free(m.stack);
        *ret = c;
        return 0;
}

void leak_classes_done(struct leak_classes *c) {
        free(c->of_block);
        free(c->indirect_bytes);
        free(c->indirect_blocks);
        *c = (struct leak_classes){0};
}
