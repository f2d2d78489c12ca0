/* SPDX-License-Identifier: MIT */
/* Two trees against sums of each by the names from the top down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/holder_growth.h"
#include "reach/testing/brute_sites.h"
#include "reach/testing/random_graph.h"

/* The group that has this way; REACH_NONE: there is none. */
static uint32_t group_by_way(const struct site_tree *t, const struct brute_way *way) {
        for (uint32_t i = 0; i < t->n; i++) {
                struct brute_way other = brute_way_of_group(t, i);

                if (brute_way_is(&other, way))
                        return i;
        }
        return REACH_NONE;
}

static void check_row(const struct site_tree *before, const struct site_tree *after,
                      const struct holder_growth *growth, uint32_t row) {
        static const struct site_group none;
        const struct growth_row *r = &growth->rows[row];
        struct brute_way way = r->after != REACH_NONE ? brute_way_of_group(after, r->after)
                                                      : brute_way_of_group(before, r->before);
        const struct site_group *old = r->before != REACH_NONE ? &before->groups[r->before] : &none;
        const struct site_group *new = r->after != REACH_NONE ? &after->groups[r->after] : &none;

        assert_int_equal(r->before, group_by_way(before, &way));
        assert_int_equal(r->after, group_by_way(after, &way));
        assert_int_equal(r->n_blocks, (int64_t)(new->n_blocks - old->n_blocks));
        assert_int_equal(r->own_bytes, (int64_t)(new->own_bytes - old->own_bytes));
        assert_int_equal(r->tree_blocks, (int64_t)(new->tree_blocks - old->tree_blocks));
        assert_int_equal(r->tree_bytes, (int64_t)(new->tree_bytes - old->tree_bytes));
        assert_int_equal(r->retained_bytes,
                         (int64_t)(new->outermost_weight - old->outermost_weight));
        assert_true(row == 0 ? r->parent == REACH_NONE : r->parent < row);
        if (row && r->after != REACH_NONE)
                assert_int_equal(growth->rows[r->parent].after, after->groups[r->after].parent);
        if (row && r->before != REACH_NONE)
                assert_int_equal(growth->rows[r->parent].before, before->groups[r->before].parent);
}

static void equal_brute_force(void **unused) {
        struct draw d = draw_from(seed_of_run());

        for (int i = 0; i < 500; i++) {
                struct random_graph old, new;
                struct holder_tree before, after;
                struct holder_growth growth;
                uint32_t n_before = 0, n_after = 0, way[16], n_way;

                random_graph_init(&old, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 30), (uint32_t)draw_below(&d, 4));
                random_graph_init(&new, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 30), (uint32_t)draw_below(&d, 4));
                assert_int_equal(holder_tree_make(&old.graph, NULL, NULL, &before), 0);
                assert_int_equal(holder_tree_make(&new.graph, NULL, NULL, &after), 0);
                assert_int_equal(holder_growth_find(&before.tree, &after.tree, &growth), 0);
                for (uint32_t row = 0; row < growth.n; row++) {
                        check_row(&before.tree, &after.tree, &growth, row);
                        n_before += growth.rows[row].before != REACH_NONE;
                        n_after += growth.rows[row].after != REACH_NONE;
                }
                assert_int_equal(n_before, before.tree.n);
                assert_int_equal(n_after, after.tree.n);
                n_way = holder_growth_way(&growth, way, ARRAY_SIZE(way));
                assert_true((n_way == 0) == (growth.rows[0].tree_bytes <= 0));
                for (uint32_t k = 1; k < n_way; k++) {
                        assert_int_equal(growth.rows[way[k]].parent, way[k - 1]);
                        assert_true(2 * growth.rows[way[k]].tree_bytes >=
                                    growth.rows[way[k - 1]].tree_bytes);
                }
                holder_growth_done(&growth);
                holder_tree_done(&before);
                holder_tree_done(&after);
                random_graph_done(&old);
                random_graph_done(&new);
        }
}

/* Two sets that hold tasks; each task holds a buffer. The second set gets more of them. */
static void make_sets(uint32_t n_first, uint32_t n_second, struct random_graph *r,
                      struct holder_tree *ret) {
        struct random_edge edges[1000];
        uint32_t n_tasks = n_first + n_second, n_blocks = 2 + 2 * n_tasks;
        size_t n = 0;

        assert_true(2 + 2 * n_tasks <= ARRAY_SIZE(edges));
        for (uint32_t set = 0; set < 2; set++)
                edges[n++] = (struct random_edge){n_blocks + set, set};
        for (uint32_t i = 0; i < n_tasks; i++) {
                edges[n++] = (struct random_edge){i >= n_first, 2 + i};
                edges[n++] = (struct random_edge){2 + i, 2 + n_tasks + i};
        }
        random_graph_init_edges(r, n_blocks, 2, edges, n);
        for (uint32_t i = 0; i < n_blocks; i++)
                r->blocks[i].site = i < 2 ? 0 : i < 2 + n_tasks ? 1 : 2;
        assert_int_equal(holder_tree_make(&r->graph, NULL, NULL, ret), 0);
}

static void the_holder_that_grew_is_found(void **unused) {
        struct random_graph old, new;
        struct holder_tree before, after;
        struct holder_growth growth;
        uint32_t way[16], n_way, place;
        const struct growth_row *grown;

        make_sets(100, 50, &old, &before);
        make_sets(95, 90, &new, &after);
        assert_int_equal(holder_growth_find(&before.tree, &after.tree, &growth), 0);
        n_way = holder_growth_way(&growth, way, ARRAY_SIZE(way));
        assert_int_equal(n_way, 5); /* everything, second root, its set, its tasks, their buffers */
        place = holder_growth_place(&growth, way, n_way);
        assert_int_equal(place, 3);
        grown = &growth.rows[way[place]];
        assert_int_equal(after.tree.groups[grown->after].site, 1);
        assert_int_equal(grown->n_blocks, 40);
        assert_int_equal(grown->retained_bytes, 40 * 32);
        assert_int_equal(after.tree.groups[growth.rows[way[1]].after].kind, GROUP_PLACE);
        assert_int_equal(after.tree.groups[growth.rows[way[1]].after].site, 1);
        holder_growth_done(&growth);
        holder_tree_done(&before);
        holder_tree_done(&after);
        random_graph_done(&old);
        random_graph_done(&new);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_brute_force),
                cmocka_unit_test(the_holder_that_grew_is_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
