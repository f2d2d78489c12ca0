/* SPDX-License-Identifier: MIT */
/* Groups and their figures against the way of each node found for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/holder_tree.h"
#include "reach/testing/brute_sites.h"
#include "reach/testing/random_graph.h"

static uint32_t type_by_number(void *ctx, uint32_t block) {
        return block % 3;
}

static uint32_t name_by_number(void *ctx, uint32_t root_or_place) {
        return root_or_place / 2;
}

static bool is_outermost(const struct site_tree *t, const uint32_t *parent, uint32_t node) {
        for (uint32_t above = parent[node]; above != REACH_NONE; above = parent[above])
                if (t->group_of[above] == t->group_of[node])
                        return false;
        return true;
}

/* The figures that a group must have. */
static void check_group(const struct reach_graph *g, const struct holder_tree *h, uint32_t group) {
        const struct site_tree *t = &h->tree;
        const struct site_group *found = &t->groups[group];
        struct site_group sum = {.oldest_ms = UINT32_MAX};
        struct brute_way way = brute_way_of_group(t, group);

        for (uint32_t i = 0; i < h->dominators.n; i++) {
                const struct reach_block *block = i < g->n_blocks ? &g->blocks[i] : NULL;
                struct brute_way other;

                if (t->group_of[i] == REACH_NONE)
                        continue;
                other = brute_way_of_group(t, t->group_of[i]);
                if (block && brute_way_begins(&other, &way)) {
                        sum.tree_blocks++;
                        sum.tree_bytes += block->size_bytes;
                }
                if (t->group_of[i] != group)
                        continue;
                sum.outermost_weight += is_outermost(t, h->dominators.parent, i)
                                                ? h->dominators.retained_bytes[i]
                                                : 0;
                if (!block)
                        continue;
                sum.n_blocks++;
                sum.n_outermost += is_outermost(t, h->dominators.parent, i);
                sum.own_bytes += block->size_bytes;
                sum.largest_bytes = MAX(sum.largest_bytes, block->size_bytes);
                sum.oldest_ms = MIN(sum.oldest_ms, block->birth_ms);
                sum.newest_ms = MAX(sum.newest_ms, block->birth_ms);
        }
        assert_int_equal(found->n_blocks, sum.n_blocks);
        assert_int_equal(found->own_bytes, sum.own_bytes);
        assert_int_equal(found->largest_bytes, sum.largest_bytes);
        assert_int_equal(found->oldest_ms, sum.oldest_ms);
        assert_int_equal(found->newest_ms, sum.newest_ms);
        assert_int_equal(found->n_outermost, sum.n_outermost);
        assert_int_equal(found->outermost_weight, sum.outermost_weight);
        assert_int_equal(found->tree_blocks, sum.tree_blocks);
        assert_int_equal(found->tree_bytes, sum.tree_bytes);
        assert_true(found->outermost_weight >= found->tree_bytes);
}

static void check_order(const struct site_tree *t, uint32_t group) {
        uint32_t n_listed = 0, n_children = 0;

        for (uint32_t i = t->groups[group].first_child; i != REACH_NONE;
             i = t->groups[i].next, n_listed++) {
                uint32_t next = t->groups[i].next;

                assert_int_equal(t->groups[i].parent, group);
                assert_true(next == REACH_NONE ||
                            t->groups[i].tree_bytes >= t->groups[next].tree_bytes);
        }
        for (uint32_t i = 1; i < t->n; i++)
                n_children += t->groups[i].parent == group;
        assert_int_equal(n_listed, n_children);
}

static void check(const struct reach_graph *g, const struct reach_places *places,
                  const struct site_keys *keys) {
        struct holder_tree h;

        assert_int_equal(holder_tree_make(g, places, keys, &h), 0);
        for (uint32_t i = 0; i < h.dominators.n; i++) {
                bool is_in = i == reach_above_all(g) || h.dominators.parent[i] != REACH_NONE;

                assert_true((h.tree.group_of[i] != REACH_NONE) == is_in);
                if (is_in) {
                        struct brute_way found = brute_way_of_group(&h.tree, h.tree.group_of[i]);
                        struct brute_way wanted =
                                brute_way_of_node(g, h.dominators.parent, keys, i);

                        assert_true(brute_way_is(&found, &wanted));
                }
        }
        for (uint32_t i = 0; i < h.tree.n; i++) {
                struct brute_way way = brute_way_of_group(&h.tree, i);

                check_group(g, &h, i);
                check_order(&h.tree, i);
                for (uint32_t k = 0; k < i; k++) {
                        struct brute_way other = brute_way_of_group(&h.tree, k);

                        assert_false(brute_way_is(&way, &other));
                }
        }
        holder_tree_done(&h);
}

static void equal_brute_force(void **unused) {
        struct draw d = draw_from(seed_of_run());

        for (int i = 0; i < 1000; i++) {
                uint32_t n_roots = (uint32_t)draw_below(&d, 6), of_root[6] = {0};
                struct reach_places places = {of_root, 1};
                struct site_keys keys = {draw_below(&d, 2) ? type_by_number : NULL,
                                         draw_below(&d, 2) ? name_by_number : NULL, NULL};
                struct random_graph r;

                for (uint32_t k = 1; k < n_roots; k++)
                        of_root[k] = draw_below(&d, 2) ? places.n++ : places.n - 1;
                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 40), n_roots);
                check(&r.graph, draw_below(&d, 2) ? &places : NULL,
                      draw_below(&d, 2) ? &keys : NULL);
                random_graph_done(&r);
        }
}

static void check_rows(const struct site_tree *t, uint64_t min_bytes, uint32_t max_groups) {
        _cleanup_free_ bool *shown = calloc(t->n, sizeof(bool));
        uint64_t *below = calloc(t->n, sizeof(below[0]));
        uint32_t at_depth[128] = {0}, n_shown = 0;
        uint64_t least = UINT64_MAX;
        site_rows rows = {0};

        assert_int_equal(site_tree_rows(t, min_bytes, max_groups, &rows), 0);
        for (size_t i = 0; i < rows.n; i++) {
                const struct site_row *row = &rows.items[i];

                if (row->group == REACH_NONE) {
                        below[at_depth[row->depth - 1]] += row->n_bytes;
                        assert_true(row->n_groups > 0);
                        continue;
                }
                assert_false(shown[row->group]);
                shown[row->group] = true;
                n_shown++;
                least = MIN(least, t->groups[row->group].tree_bytes);
                at_depth[row->depth] = row->group;
                assert_true((i == 0) == (row->depth == 0));
                if (i) {
                        assert_int_equal(t->groups[row->group].parent, at_depth[row->depth - 1]);
                        below[at_depth[row->depth - 1]] += t->groups[row->group].tree_bytes;
                        assert_true(t->groups[row->group].tree_bytes >= min_bytes);
                }
        }
        assert_true(n_shown <= MAX(max_groups, 1u));
        for (uint32_t i = 0; i < t->n; i++) {
                if (shown[i])
                        assert_int_equal(below[i],
                                         t->groups[i].tree_bytes - t->groups[i].own_bytes);
                else
                        assert_true(t->groups[i].tree_bytes <= least &&
                                    (t->groups[i].tree_bytes < min_bytes || n_shown >= max_groups));
        }
        free(below);
        vec_free(&rows);
}

static void rows_add_up(void **unused) {
        struct draw d = draw_from(seed_of_run() + 1);

        for (int i = 0; i < 300; i++) {
                struct random_graph r;
                struct holder_tree h;

                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 80), (uint32_t)draw_below(&d, 6));
                assert_int_equal(holder_tree_make(&r.graph, NULL, NULL, &h), 0);
                check_rows(&h.tree, draw_below(&d, 3) ? draw_below(&d, 20000) : 0,
                           (uint32_t)draw_below(&d, 12));
                holder_tree_done(&h);
                random_graph_done(&r);
        }
}

enum { N_TASKS = 200000, TASK_NODES = 3 };

/* A list of nodes, each of which holds a task, which holds its buffer: four lines, however many. */
static void a_list_of_tasks_is_one_line(void **unused) {
        uint32_t n_blocks = 1 + TASK_NODES * N_TASKS;
        struct random_edge *edges = calloc((size_t)n_blocks + N_TASKS, sizeof(edges[0]));
        size_t n = 0;
        struct random_graph r;
        struct holder_tree h;
        site_rows rows = {0};
        const struct site_group *groups;

        edges[n++] = (struct random_edge){n_blocks, 0};
        for (uint32_t i = 1; i < n_blocks; i += TASK_NODES) {
                edges[n++] = (struct random_edge){i == 1 ? 0 : i - TASK_NODES, i};
                edges[n++] = (struct random_edge){i, i + 1};
                edges[n++] = (struct random_edge){i + 1, i + 2};
        }
        random_graph_init_edges(&r, n_blocks, 1, edges, n);
        r.blocks[0].site = 100;
        for (uint32_t i = 1; i < n_blocks; i++) {
                r.blocks[i].site = (i - 1) % TASK_NODES;
                r.blocks[i].birth_ms = i;
        }
        assert_int_equal(holder_tree_make(&r.graph, NULL, NULL, &h), 0);
        assert_int_equal(site_tree_rows(&h.tree, 0, 100, &rows), 0);
        assert_int_equal(rows.n, 6); /* everything, the root, the head, nodes, tasks, buffers */
        groups = h.tree.groups;
        assert_int_equal(groups[rows.items[4].group].site, 1);
        assert_int_equal(rows.items[4].depth, 4);
        assert_int_equal(groups[rows.items[4].group].n_blocks, N_TASKS);
        assert_int_equal(groups[rows.items[4].group].outermost_weight, 32 * N_TASKS);
        assert_int_equal(groups[rows.items[4].group].oldest_ms, 2);
        assert_int_equal(groups[rows.items[3].group].n_outermost, 1);
        assert_int_equal(groups[rows.items[3].group].outermost_weight, 48 * N_TASKS);
        vec_free(&rows);
        holder_tree_done(&h);
        random_graph_done(&r);
        free(edges);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_brute_force),
                cmocka_unit_test(rows_add_up),
                cmocka_unit_test(a_list_of_tasks_is_one_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
