/* SPDX-License-Identifier: MIT */
/* How long it takes to find who keeps whom (docs/holders.md):
 *
 *     reach_holder_times [MILLIONS_OF_BLOCKS]     10 million, each with two ways to it, unless told
 *
 * CPU time of one core, for a heap whose blocks point to neighbours, as allocators lay them out, and for one without any order. */
#include <stdio.h>

#include "base/system_clock.h"
#include "base/vec.h"
#include "reach/dominators.h"
#include "reach/testing/draw.h"
#include "reach/testing/random_graph.h"

static double cpu_s(void) {
        return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* Two ways to each block: one from a block before it, at most `span` away, one from anywhere within it. */
static void make(struct random_graph *r, uint32_t n_blocks, uint64_t span) {
        struct draw d = draw_from(1);
        VEC(struct random_edge) edges = {0};

        vec_reserve(&edges, 2 * (size_t)n_blocks);
        for (uint32_t i = 0; i < n_blocks; i++) {
                uint64_t back = MIN((uint64_t)i, span),
                         ahead = MIN((uint64_t)(n_blocks - 1 - i), span);
                uint32_t before = i ? i - 1 - (uint32_t)draw_below(&d, back) : n_blocks;

                vec_push(&edges, (struct random_edge){before, i});
                vec_push(&edges, (struct random_edge){(uint32_t)(i - back +
                                                                 draw_below(&d, back + ahead + 1)),
                                                      i});
        }
        random_graph_init_edges(r, n_blocks, 1, edges.items, edges.n);
        for (uint32_t i = 0; i < n_blocks; i++)
                r->blocks[i].site = i % 1000;
        vec_free(&edges);
}

static void measure(const char *what, uint32_t n_blocks, uint64_t span) {
        struct random_graph r;
        struct reach_dominators d;
        double begin_s;

        make(&r, n_blocks, span);
        begin_s = cpu_s();
        if (reach_dominators_find(&r.graph, NULL, &d) == 0) {
                printf("%s: %u blocks, %llu ways: dominators in %.2f s\n", what, n_blocks,
                       (unsigned long long)reach_n_edges(&r.graph), cpu_s() - begin_s);
                reach_dominators_done(&d);
        }
        random_graph_done(&r);
}

int main(int argc, char **argv) {
        double millions = argc > 1 ? atof(argv[1]) : 10;
        uint32_t n_blocks = (uint32_t)(millions * 1e6);

        measure("neighbours", n_blocks, 100);
        measure("no order", n_blocks, n_blocks);
        return 0;
}
