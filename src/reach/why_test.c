/* SPDX-License-Identifier: MIT */
/* Ways and what would be freed, against trying all shortest ways and walking again without the blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/testing/brute_reach.h"
#include "reach/testing/brute_sites.h"
#include "reach/testing/random_graph.h"
#include "reach/why.h"

enum { MAX_NODES = 40 };

/* Steps from the roots to each node; UINT32_MAX: no way leads there. */
static void brute_steps(const struct reach_graph *g, uint32_t *ret) {
        uint32_t n = reach_n_nodes(g);

        for (uint32_t i = 0; i < n; i++)
                ret[i] = i < g->n_blocks ? UINT32_MAX : 0;
        for (uint32_t round = 0; round < n; round++)
                for (uint32_t i = 0; i < n; i++)
                        for (uint64_t e = g->first[i]; ret[i] != UINT32_MAX && e < g->first[i + 1];
                             e++) {
                                uint32_t to = reach_edge_block(g->edges[e]);

                                ret[to] = MIN(ret[to], ret[i] + 1);
                        }
}

/* Does a shortest way from `at`, which the way so far ends with, lead to a node by the sites that are wanted? */
static bool leads_by(const struct reach_graph *g, const uint32_t *steps, struct brute_way so_far,
                     uint32_t at, uint32_t to, const struct brute_way *wanted) {
        if (at == to)
                return brute_way_is(&so_far, wanted);
        if (steps[at] >= steps[to])
                return false;
        for (uint64_t e = g->first[at]; e < g->first[at + 1]; e++) {
                uint32_t next = reach_edge_block(g->edges[e]);
                struct brute_way further = so_far;

                if (steps[next] != steps[at] + 1)
                        continue;
                brute_way_step(&further, g, NULL, next);
                if (leads_by(g, steps, further, next, to, wanted))
                        return true;
        }
        return false;
}

/* Roots of a place are its group. */
static bool some_root_leads_by(const struct reach_graph *g, const struct reach_places *places,
                               const uint32_t *steps, uint32_t to, const struct brute_way *wanted) {
        for (uint32_t i = 0; i < g->n_roots; i++) {
                struct brute_way way = {0};

                brute_way_step(&way, g, NULL,
                               places ? reach_place_node(g, places->of_root[i]) : g->n_blocks + i);
                if (leads_by(g, steps, way, g->n_blocks + i, to, wanted))
                        return true;
        }
        return false;
}

/* repeats: sites do, and a way may lead on to a group above */
static void check(const struct reach_graph *g, const struct reach_places *places,
                  const bool *wanted, bool repeats) {
        _cleanup_free_ bool *all = brute_reached(g, NULL), *left = brute_reached(g, wanted);
        struct reach_sum sum = {0}, lost = {0}, freed = {0};
        uint32_t steps[MAX_NODES];
        struct why why;

        brute_steps(g, steps);
        assert_int_equal(why_find(g, wanted, places, NULL, &why), 0);
        for (uint32_t i = 0; i < g->n_blocks; i++) {
                const uint64_t n_bytes = g->blocks[i].size_bytes;

                if (all[i] && !left[i])
                        freed = (struct reach_sum){freed.n_blocks + 1, freed.n_bytes + n_bytes};
                if (wanted[i])
                        sum = (struct reach_sum){sum.n_blocks + 1, sum.n_bytes + n_bytes};
                if (wanted[i] && !all[i])
                        lost = (struct reach_sum){lost.n_blocks + 1, lost.n_bytes + n_bytes};
                if (wanted[i] && all[i]) {
                        struct brute_way way = brute_way_of_group(&why.tree, why.tree.group_of[i]);

                        assert_true(some_root_leads_by(g, places, steps, i, &way));
                }
        }
        assert_memory_equal(&why.wanted, &sum, sizeof(sum));
        assert_memory_equal(&why.unreachable, &lost, sizeof(lost));
        assert_memory_equal(&why.freed, &freed, sizeof(freed));
        assert_int_equal(why.tree.groups[0].tree_blocks, sum.n_blocks - lost.n_blocks);
        assert_int_equal(why.tree.groups[0].tree_bytes, sum.n_bytes - lost.n_bytes);
        for (uint32_t i = 1; i < why.tree.n && !repeats; i++)
                assert_true(why.tree.groups[i].tree_blocks > 0); /* no way leads nowhere */
        why_done(&why);
}

static void equal_brute_force(void **unused) {
        struct draw d = draw_from(seed_of_run());

        for (int i = 0; i < 1000; i++) {
                uint32_t n_roots = (uint32_t)draw_below(&d, 6), of_root[6] = {0},
                         n_blocks = (uint32_t)draw_below(&d, 16);
                struct reach_places places = {of_root, 1};
                struct random_graph r;
                bool wanted[MAX_NODES] = {0};

                for (uint32_t k = 1; k < n_roots; k++)
                        of_root[k] = draw_below(&d, 2) ? places.n++ : places.n - 1;
                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES), n_blocks,
                                  n_roots);
                for (uint32_t k = 0; k < n_blocks && i % 4 == 0; k++)
                        r.blocks[k].site = k;
                for (uint32_t k = 0; k < n_blocks; k++)
                        wanted[k] =
                                draw_below(&d, 2) ? r.blocks[k].site == 0 : draw_below(&d, 4) == 0;
                check(&r.graph, draw_below(&d, 2) ? &places : NULL, wanted, i % 4 != 0);
                random_graph_done(&r);
        }
}

enum { N_LIST = 300000 };

/* Ways of 1 to N_LIST steps are one line, and found in one walk. */
static void long_ways_are_short_to_tell(void **unused) {
        struct random_edge *edges = calloc(2 * N_LIST, sizeof(edges[0]));
        bool *wanted = calloc(2 * N_LIST, sizeof(bool));
        size_t n = 0;
        struct random_graph r;
        struct why why;

        edges[n++] = (struct random_edge){2 * N_LIST, 0};
        for (uint32_t i = 0; i < N_LIST; i++) {
                if (i + 1 < N_LIST)
                        edges[n++] = (struct random_edge){i, i + 1};
                edges[n++] = (struct random_edge){i, N_LIST + i};
                wanted[N_LIST + i] = true;
        }
        random_graph_init_edges(&r, 2 * N_LIST, 1, edges, n);
        for (uint32_t i = 0; i < N_LIST; i++)
                r.blocks[N_LIST + i].site = 7;
        assert_int_equal(why_find(&r.graph, wanted, NULL, NULL, &why), 0);
        assert_int_equal(why.tree.n,
                         4); /* everything, the root, nodes of the list, what they hold */
        assert_int_equal(why.tree.groups[2].n_blocks, 0);
        assert_int_equal(why.tree.groups[2].tree_blocks, N_LIST);
        assert_int_equal(why.tree.groups[3].site, 7);
        assert_int_equal(why.tree.groups[3].n_blocks, N_LIST);
        assert_int_equal(why.freed.n_blocks, N_LIST);
        why_done(&why);
        random_graph_done(&r);
        free(edges);
        free(wanted);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_brute_force),
                cmocka_unit_test(long_ways_are_short_to_tell),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
