/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/leak_classes.h"
#include "reach/testing/draw.h"

enum { MAX_BLOCKS = 24, MAX_ROOTS = 3, MAX_NODES = MAX_BLOCKS + MAX_ROOTS, MAX_EDGES = 200 };

/* A graph small enough to know everything of it: which node has an edge to which, by first byte (or as good) and at all. */
struct small {
        struct reach_block blocks[MAX_BLOCKS];
        struct reach_root roots[MAX_ROOTS];
        uint64_t first[MAX_NODES + 1];
        reach_edge edges[MAX_EDGES];
        struct reach_graph g;
        bool by_first[MAX_NODES][MAX_BLOCKS], by_any[MAX_NODES][MAX_BLOCKS];
};

static void draw_graph(struct draw *d, struct small *s) {
        uint64_t n = 0, per_node = draw_below(d, 4);

        memset(s, 0, sizeof(*s));
        s->g = (struct reach_graph){s->blocks,
                                    s->roots,
                                    1 + (uint32_t)draw_below(d, MAX_BLOCKS),
                                    (uint32_t)draw_below(d, MAX_ROOTS + 1),
                                    s->first,
                                    s->edges};
        for (uint32_t i = 0; i < s->g.n_blocks; i++)
                s->blocks[i] = (struct reach_block){.address = 4096 + 64 * i,
                                                    .size_bytes = draw_below(d, 50)};
        for (uint32_t i = 0; i < reach_n_nodes(&s->g); i++) {
                s->first[i] = n;
                for (uint64_t k = draw_below(d, per_node + 2); k && n < MAX_EDGES; k--) {
                        uint32_t to = (uint32_t)draw_below(d, s->g.n_blocks);
                        enum reach_edge_kind kind =
                                draw_below(d, 3) ? EDGE_START : draw_below(d, N_REACH_EDGE_KINDS);

                        s->edges[n++] = reach_edge_make(to, kind);
                        s->by_any[i][to] = true;
                        s->by_first[i][to] |= kind != EDGE_INTERIOR;
                }
        }
        s->first[reach_n_nodes(&s->g)] = n;
}

/* Everything that a way leads to, by ways of one kind. */
static void close_over(const struct small *s, bool by[MAX_NODES][MAX_BLOCKS],
                       bool ret[MAX_NODES][MAX_BLOCKS]) {
        uint32_t n = reach_n_nodes(&s->g);

        memcpy(ret, by, sizeof(s->by_any));
        for (uint32_t via = 0; via < s->g.n_blocks; via++)
                for (uint32_t from = 0; from < n; from++)
                        for (uint32_t to = 0; to < s->g.n_blocks && ret[from][via]; to++)
                                ret[from][to] |= ret[via][to];
}

static bool is_from_root(const struct small *s, bool ways[MAX_NODES][MAX_BLOCKS], uint32_t block) {
        for (uint32_t i = s->g.n_blocks; i < reach_n_nodes(&s->g); i++)
                if (ways[i][block])
                        return true;
        return false;
}

/* Whether a way leads from one lost block to another by blocks that nobody has claimed. */
static bool leads(const struct small *s, const int *class, uint32_t from, uint32_t to, bool *seen) {
        for (uint32_t next = 0; next < s->g.n_blocks; next++) {
                if (!s->by_any[from][next] || seen[next])
                        continue;
                if (next == to)
                        return true;
                seen[next] = true;
                if (class[next] < 0 && leads(s, class, next, to, seen))
                        return true;
        }
        return false;
}

/* As memcheck does: each block in turn that is not lost with an earlier one takes along what is not lost with another yet. */
static void brute_classes(const struct small *s, bool first[MAX_NODES][MAX_BLOCKS],
                          bool any[MAX_NODES][MAX_BLOCKS], int *ret) {
        for (uint32_t i = 0; i < s->g.n_blocks; i++)
                ret[i] = is_from_root(s, first, i) ? (int)LEAK_REACHABLE
                         : is_from_root(s, any, i) ? (int)LEAK_POSSIBLE
                                                   : -1;
        for (uint32_t i = 0; i < s->g.n_blocks; i++) {
                bool is_lost_too[MAX_BLOCKS] = {0};

                if (ret[i] >= 0)
                        continue;
                for (uint32_t k = 0; k < s->g.n_blocks; k++) {
                        bool seen[MAX_BLOCKS] = {0};

                        is_lost_too[k] = k != i && (ret[k] < 0 || ret[k] == LEAK_DEFINITE) &&
                                         leads(s, ret, i, k, seen);
                }
                ret[i] = LEAK_DEFINITE;
                for (uint32_t k = 0; k < s->g.n_blocks; k++)
                        if (is_lost_too[k])
                                ret[k] = LEAK_INDIRECT;
        }
}

static void test_classes(void **state) {
        (void)state;
        for (uint64_t seed = 0; seed < 20000; seed++) {
                struct draw d = draw_from(seed_of_run() * 100000 + seed);
                bool first[MAX_NODES][MAX_BLOCKS], any[MAX_NODES][MAX_BLOCKS];
                uint64_t n_indirect = 0, indirect_bytes = 0;
                int classes[MAX_BLOCKS];
                struct small s;
                struct leak_classes c;

                draw_graph(&d, &s);
                close_over(&s, s.by_first, first);
                close_over(&s, s.by_any, any);
                brute_classes(&s, first, any, classes);
                assert_int_equal(leak_classes_find(&s.g, &c), 0);
                for (uint32_t i = 0; i < s.g.n_blocks; i++) {
                        assert_int_equal(c.of_block[i], classes[i]);
                        n_indirect += c.indirect_blocks[i];
                        indirect_bytes += c.indirect_bytes[i];
                }
                assert_int_equal(n_indirect, c.blocks[LEAK_INDIRECT]);
                assert_int_equal(indirect_bytes, c.bytes[LEAK_INDIRECT]);
                leak_classes_done(&c);
        }
}

/* A list of a million: no recursion. */
static void test_long_list(void **state) {
        enum { N = 1000000 };
        struct reach_graph g = {.n_blocks = N};
        struct reach_block *blocks = calloc(N, sizeof(*blocks));
        struct leak_classes c;

        (void)state;
        g.first = calloc(N + 1, sizeof(*g.first));
        g.edges = calloc(N, sizeof(*g.edges));
        g.blocks = blocks;
        for (uint32_t i = 0; i < N; i++) {
                blocks[i] =
                        (struct reach_block){.address = 4096 + 32 * (uint64_t)i, .size_bytes = 16};
                g.first[i + 1] = i + 1;
                g.edges[i] = reach_edge_make((i + N - 1) % N, EDGE_START);
        }
        assert_int_equal(leak_classes_find(&g, &c), 0);
        assert_int_equal(c.blocks[LEAK_DEFINITE], 1);
        assert_int_equal(c.of_block[0], LEAK_DEFINITE);
        assert_int_equal(c.indirect_bytes[0], 16 * (N - 1));
        leak_classes_done(&c);
        g.edges[0] =
                g.edges[1]; /* the circle is opened: block 0 points to itself, the last leads all */
        assert_int_equal(leak_classes_find(&g, &c), 0);
        assert_int_equal(c.of_block[N - 1], LEAK_DEFINITE);
        assert_int_equal(c.indirect_bytes[N - 1], 16 * (N - 1));
        leak_classes_done(&c);
        free(blocks);
        reach_graph_done(&g);
}

static void test_rules_are_counted(void **state) {
        const struct reach_block blocks[] = {{.address = 4096, .size_bytes = 10},
                                             {.address = 8192, .size_bytes = 20}};
        const struct reach_root root = {.begin = 0, .end = 16};
        uint64_t first[] = {0, 1, 1, 3};
        reach_edge edges[] = {reach_edge_make(1, EDGE_START), reach_edge_make(0, EDGE_NEWARRAY),
                              reach_edge_make(1, EDGE_INTERIOR)};
        const struct reach_graph g = {blocks, &root, 2, 1, first, edges};
        struct leak_classes c;

        (void)state;
        assert_int_equal(leak_classes_find(&g, &c), 0);
        assert_int_equal(c.blocks[LEAK_REACHABLE], 2);
        assert_int_equal(c.by_rule_blocks[EDGE_NEWARRAY], 1);
        assert_int_equal(c.by_rule_bytes[EDGE_NEWARRAY], 10);
        leak_classes_done(&c);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_classes),
                cmocka_unit_test(test_long_list),
                cmocka_unit_test(test_rules_are_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
