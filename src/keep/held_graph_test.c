/* SPDX-License-Identifier: MIT */
/* Who counts as a holder, of graphs made by hand; and, given traces, what each holder retains against a recount: everything is walked anew
 * without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/testing/seed.h"
#include "keep/borrowers.h"
#include "keep/held_graph.h"
#include "keep/holders.h"
#include "keep/nearest_places.h"
#include "keep/testing/graph_trace.h"
#include "reach/testing/brute_reach.h"
#include "reach/testing/draw.h"
#include "show/opened.h"

enum { N_LARGEST = 25, N_BY_CHANCE = 25, MAX_PLACES = 25 };

static char **paths;
static int n_paths;

/* ---- by hand ------------------------------------------------------------------------------------------------ */

/* Blocks 0 → 3; 1; 2 → 1. */
static const struct reach_block hand_blocks[4];
static const struct reach_root hand_roots[6];
static uint64_t hand_first[11] = {0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8};
static reach_edge hand_edges[8] = {3, 1, /* roots: */ 0, 3, 2, 1, 3, 1};
static const struct reach_graph hand_graph = {.blocks = hand_blocks,
                                              .roots = hand_roots,
                                              .n_blocks = 4,
                                              .n_roots = 6,
                                              .first = hand_first,
                                              .edges = hand_edges};
static struct root_place hand_places[5] = {
        {.kind = ROOT_PLACE_VARIABLE},
        {.kind = ROOT_PLACE_THREAD, .name = 1},
        {.kind = ROOT_PLACE_THREAD, .name = 2},
        {.kind = ROOT_PLACE_MAPPING, .name = 3},
        {.kind = ROOT_PLACE_ALLOCATOR, .name = 4},
};

static void test_borrowers(void **state) {
        /* the variable leads to 0, a thread to 3 which the variable has, another to 2; a mapping to 1, which 2 has; an allocator to 3 and 1 */
        const uint32_t of_root[6] = {0, 1, 2, 3, 4, 4};
        const bool expected[6] = {true, false, true, false, false, false};
        struct borrowers b;

        (void)state;
        assert_int_equal(borrowers_find(&hand_graph, hand_places, of_root, &b), 0);
        assert_memory_equal(b.counts, expected, sizeof(expected));
        borrowers_done(&b);
}

/* A thread's head, block 0, leads to 2 and, by what these hold, to all of 2 to 10; 1, which points to 3, is what they all point to, the
 * thread and thread-local data; a word of that points to 5, too. */
static void test_owner(void **state) {
        enum { N = 11, FIRST = 2 };
        struct reach_block blocks[N] = {0};
        const struct reach_root roots[4] = {0};
        uint64_t first[N + 5] = {0}, n = 0;
        reach_edge edges[64];
        const uint32_t of_root[4] = {0, 0, 1, 1};
        struct root_place places[2] = {{.kind = ROOT_PLACE_THREAD, .name = 0},
                                       {.kind = ROOT_PLACE_THREAD_LOCAL, .name = 1}};
        struct reach_graph g = {.blocks = blocks,
                                .roots = roots,
                                .n_blocks = N,
                                .n_roots = 4,
                                .first = first,
                                .edges = edges};
        struct borrowers b;
        uint64_t also = 0;

        (void)state;
        for (uint32_t i = 0; i < N; i++) {
                blocks[i].site = i < FIRST ? i : FIRST;
                first[i] = n;
                if (i < FIRST) {
                        edges[n++] = i == 0 ? FIRST : 3;
                        continue;
                }
                edges[n++] = 1;
                edges[n++] = i + 1 < N ? i + 1 : 0;
        }
        for (uint32_t i = 0; i < 4; i++) {
                first[N + i] = n;
                edges[n++] = i == 0 ? 0 : i < 3 ? 1 : 5;
        }
        first[N + 4] = n;
        assert_int_equal(borrowers_find(&g, places, of_root, &b), 0);
        assert_true(b.counts[0] && !b.counts[1] && b.counts[2] && !b.counts[3]);
        for (uint32_t i = 0; i < N; i++)
                assert_int_equal(b.place[i], i == 1);
        borrowers_drop_edges(&b, of_root, &g);
        assert_int_equal(first[2] - first[1], 0); /* 1 points to 3 no more */
        assert_int_equal(reach_n_edges(&g), n - 1);
        assert_true(map_get(&b.also, borrowers_pair(0, 1), &also));
        assert_int_equal(also, 2);
        borrowers_done(&b);
}

static void test_nearest(void **state) {
        uint32_t of_root[6] = {0, 1, 2, 3, 4, 4}, expected[4] = {0, 3, 2, 1};
        struct nearest_places nearest[4];
        struct root_places places = {.places = {.of_root = of_root, .n = 5}};

        (void)state;
        places.list.items = hand_places;
        places.list.n = 5;
        assert_int_equal(nearest_places_find(&hand_graph, &places, nearest), 0);
        for (int i = 0; i < 4; i++)
                assert_int_equal(nearest[i].of[0], expected[i]);
        assert_int_equal(nearest[3].of[1], 4);
        assert_int_equal(nearest[3].of[2], 0);
}

/* ---- of a trace --------------------------------------------------------------------------------------------- */

/* Numbers that the trace does not have are refused, not looked up. */
static void test_foreign_numbers(void **state) {
        static const char path[] = "held_graph_foreign.silt";

        (void)state;
        for (uint32_t process = 0; process < 2; process++) {
                struct draw d = draw_from(3);
                struct request request = REQUEST_DEFAULT;
                struct holders_options o = HOLDERS_OPTIONS_DEFAULT;
                struct err err = {0};
                bytes_buf bytes = {0};
                FILE *out = fopen("/dev/null", "we");

                assert_int_equal(request_set(&request, "process", "all", &err), 0);
                graph_trace_draw(&d, &bytes);
                graph_trace_write(path, &(struct graph_bytes){bytes.items, bytes.n, process}, 1);
                o.view.path = path;
                o.view.request = &request;
                assert_int_equal(holders_print(out, &o, &err), process ? -EBADMSG : 0);
                assert_true(!process || strstr(err.text, "process that the trace does not have"));
                fclose(out);
                request_done(&request);
                vec_free(&bytes);
                unlink(path);
        }
}

/* ---- recorded ----------------------------------------------------------------------------------------------- */

/* What can be reached no more without these nodes. */
static uint64_t recount(const struct reach_graph *g, const bool *all, const bool *without) {
        bool *reached = brute_reached(g, without);
        uint64_t sum = 0;

        for (uint32_t i = 0; i < g->n_blocks; i++)
                if (all[i] && !reached[i])
                        sum += g->blocks[i].size_bytes;
        free(reached);
        return sum;
}

static void check_block(const struct held_graph *h, const bool *all, bool *without,
                        uint32_t block) {
        without[block] = true;
        assert_int_equal(h->holders.dominators.retained_bytes[block],
                         recount(&h->heap.graph, all, without));
        without[block] = false;
}

static void check_place(const struct held_graph *h, const bool *all, bool *without,
                        uint32_t place) {
        const struct reach_graph *g = &h->heap.graph;

        for (uint32_t i = 0; i < g->n_roots; i++)
                without[g->n_blocks + i] = h->places.places.of_root[i] == place;
        assert_int_equal(h->holders.dominators.retained_bytes[reach_place_node(g, place)],
                         recount(g, all, without));
        memset(without, 0, reach_n_nodes(g));
}

static uint32_t next_largest(const struct held_graph *h, const bool *is_done) {
        uint32_t best = REACH_NONE;

        for (uint32_t i = 0; i < h->heap.graph.n_blocks; i++)
                if (!is_done[i] &&
                    (best == REACH_NONE || h->holders.dominators.retained_bytes[i] >
                                                   h->holders.dominators.retained_bytes[best]))
                        best = i;
        return best;
}

static void check_graph(const struct held_graph *h) {
        const struct reach_graph *g = &h->heap.graph;
        struct draw d = draw_from(seed_of_run());
        bool *all = brute_reached(g, NULL), *without = calloc(reach_n_nodes(g), sizeof(bool));
        bool *is_done = calloc(g->n_blocks, sizeof(bool));

        assert_true(g->n_blocks > 0);
        for (int i = 0; i < N_LARGEST; i++) {
                uint32_t block = next_largest(h, is_done);

                if (block == REACH_NONE)
                        break;
                is_done[block] = true;
                check_block(h, all, without, block);
        }
        for (int i = 0; i < N_BY_CHANCE; i++)
                check_block(h, all, without, (uint32_t)draw_below(&d, g->n_blocks));
        for (uint32_t i = 0; i < h->places.list.n && i < MAX_PLACES; i++)
                check_place(h, all, without, (uint32_t)draw_below(&d, h->places.list.n));
        assert_int_equal(h->holders.tree.groups[0].tree_bytes + h->unheld_bytes, h->all_bytes);
        printf("%u blocks, %zu places: equal\n", g->n_blocks, h->places.list.n);
        free(all);
        free(without);
        free(is_done);
}

static void test_recorded(void **state) {
        (void)state;
        for (int i = 0; i < n_paths; i++) {
                struct name_sources rules = {0};
                struct site_texts texts;
                struct held_graph h;
                struct opened t;
                struct err err = {0};
                size_t graph;

                assert_int_equal(opened_init(&t, paths[i], &rules, &err), 0);
                site_texts_init(&texts);
                graph = held_graph_newest(t.q, QUERY_ALL, SIZE_MAX);
                assert_int_not_equal(graph, SIZE_MAX);
                assert_int_equal(held_graph_open(&h, t.q,
                                                 &(struct frame_names){.q = t.q, .names = t.names},
                                                 graph, &texts, &err),
                                 0);
                check_graph(&h);
                held_graph_done(&h);
                site_texts_done(&texts);
                opened_done(&t);
        }
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_borrowers),
                                           cmocka_unit_test(test_owner),
                                           cmocka_unit_test(test_nearest),
                                           cmocka_unit_test(test_foreign_numbers)};
        const struct CMUnitTest recorded[] = {cmocka_unit_test(test_recorded)};

        if (argc > 1) {
                n_paths = argc - 1;
                paths = argv + 1;
                return cmocka_run_group_tests(recorded, NULL, NULL);
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
