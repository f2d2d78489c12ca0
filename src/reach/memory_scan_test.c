/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "base/vec.h"
#include "reach/memory_scan.h"
#include "reach/testing/draw.h"

enum { BASE = 0x10000, WORDS = 4096, HOLE = 3 };

/* Memory of WORDS words from BASE on; the page HOLE cannot be read. */
static uint64_t fake_words[WORDS];

static size_t fake_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        uint64_t hole = BASE + HOLE * 4096, end = BASE + sizeof(fake_words);

        (void)ctx;
        if (address < BASE || address >= end || (address >= hole && address < hole + 4096))
                return 0;
        n_bytes = MIN(n_bytes, (size_t)((address < hole ? hole : end) - address));
        memcpy(ret, (const uint8_t *)fake_words + (address - BASE), n_bytes);
        return n_bytes;
}

static const struct reach_memory fake = {.read = fake_read};

typedef VEC(struct reach_block) block_list;

static void draw_blocks(struct draw *c, block_list *ret) {
        uint64_t at = BASE + 512;

        vec_clear(ret);
        while (at < BASE + sizeof(fake_words) - 6000) {
                uint64_t size = draw_below(c, 10) ? draw_below(c, 90) : draw_below(c, 5000);

                vec_push(ret, (struct reach_block){.address = at, .size_bytes = size});
                at += MAX(size, (uint64_t)1) + draw_below(c, 3) * draw_below(c, 200);
                at = draw_below(c, 8) ? ALIGN_UP(at, (uint64_t)16) : at;
        }
}

static int brute_find(const block_list *blocks, uint64_t address) {
        for (size_t i = 0; i < blocks->n; i++)
                if (address == blocks->items[i].address ||
                    (address > blocks->items[i].address &&
                     address < blocks->items[i].address + blocks->items[i].size_bytes))
                        return (int)i;
        return -1;
}

static void check_node(const struct reach_scanned *got, const block_list *blocks, uint32_t node,
                       uint64_t begin, uint64_t end) {
        const struct reach_graph *g = &got->graph;
        uint64_t e = g->first[node];

        for (uint64_t at = ALIGN_UP(begin, (uint64_t)8); at + 8 <= end; at += 8) {
                uint64_t word;
                int to;

                if (fake_read(NULL, at, &word, 8) < 8)
                        continue;
                to = brute_find(blocks, word);
                if (to < 0)
                        continue;
                assert_true(e < g->first[node + 1]);
                if (node >= g->n_blocks)
                        assert_int_equal(got->root_words[e - g->first[g->n_blocks]], at);
                assert_int_equal(reach_edge_block(g->edges[e]), to);
                assert_int_equal(reach_edge_kind(g->edges[e]) == EDGE_START,
                                 word == blocks->items[to].address);
                e++;
        }
        assert_int_equal(e, g->first[node + 1]);
}

static void test_every_pointer_is_found(void **state) {
        (void)state;
        for (unsigned seed = 0; seed < 200; seed++) {
                struct draw c = draw_from(seed_of_run() * 1000 + seed);
                block_list blocks = {0};
                uint64_t registers[4];
                struct reach_root roots[] = {
                        {.begin = BASE, .end = BASE + 512, .kind = ROOT_DATA},
                        {.begin = BASE + HOLE * 4096 - 64, .end = BASE + HOLE * 4096 + 8192},
                        {.begin = 0,
                         .end = sizeof(registers),
                         .kind = ROOT_REGISTERS,
                         .words = registers},
                };
                struct reach_scanned got;
                struct reach_scan s = {.memory = &fake,
                                       .roots = roots,
                                       .n_roots = 3,
                                       .n_threads = 1 + seed % 4,
                                       .without_heuristics = true};

                draw_blocks(&c, &blocks);
                for (size_t i = 0; i < WORDS; i++)
                        fake_words[i] =
                                draw_below(&c, 3)
                                        ? blocks.items[draw_below(&c, blocks.n)].address +
                                                  (draw_below(&c, 2) ? draw_below(&c, 100) : 0)
                                        : draw_below(&c, BASE * 4);
                for (size_t i = 0; i < 4; i++)
                        registers[i] = blocks.items[i].address + i;
                s.blocks = blocks.items;
                s.n_blocks = (uint32_t)blocks.n;
                assert_int_equal(reach_scan(&s, &got), 0);
                for (uint32_t i = 0; i < blocks.n; i++)
                        check_node(&got, &blocks, i, blocks.items[i].address,
                                   blocks.items[i].address + blocks.items[i].size_bytes);
                for (uint32_t i = 0; i < 2; i++)
                        check_node(&got, &blocks, s.n_blocks + i, roots[i].begin, roots[i].end);
                assert_true(got.unread_bytes >= 4096);
                assert_true(got.graph.first[s.n_blocks + 3] - got.graph.first[s.n_blocks + 2] >= 1);
                reach_scanned_done(&got);
                vec_free(&blocks);
        }
}

static void test_blocks_that_overlap_are_refused(void **state) {
        const struct reach_block blocks[] = {{.address = BASE, .size_bytes = 64},
                                             {.address = BASE + 32, .size_bytes = 64}};
        struct reach_scanned got;

        (void)state;
        assert_int_equal(
                reach_scan(&(struct reach_scan){.memory = &fake, .blocks = blocks, .n_blocks = 2},
                           &got),
                -EINVAL);
}

static void test_no_blocks(void **state) {
        const struct reach_root root = {.begin = BASE, .end = BASE + 512};
        struct reach_scanned got;

        (void)state;
        memset(fake_words, 0xff, sizeof(fake_words)); /* addresses that no process has */
        memset(fake_words, 0, sizeof(fake_words[0]));
        assert_int_equal(
                reach_scan(&(struct reach_scan){.memory = &fake, .roots = &root, .n_roots = 1},
                           &got),
                0);
        assert_int_equal(reach_n_edges(&got.graph), 0);
        assert_int_equal(got.read_bytes, 512);
        reach_scanned_done(&got);
}

/* Constants are the words below 1,000; code is what is below 0x5000. */
static bool fake_constant(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= BASE + 8 * 3000 && address < BASE + 8 * 3500;
}

static bool fake_code(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= 0x5000 && address < 0x6000;
}

static enum reach_edge_kind kind_of(uint64_t offset, uint64_t size, const uint64_t *words,
                                    size_t n) {
        const struct reach_memory m = {fake_read, NULL, fake_constant, fake_code, NULL, NULL};
        const struct reach_block b = {.address = BASE + 1024, .size_bytes = size};
        uint64_t word = b.address + offset;
        const struct reach_root root = {.end = 8, .kind = ROOT_REGISTERS, .words = &word};
        struct reach_scanned got;
        enum reach_edge_kind kind;

        memset(fake_words, 0, sizeof(fake_words));
        memcpy(fake_words + 128, words, n * 8);
        for (size_t i = 0; i < 8; i++)
                fake_words[3000 + i] = 0x5000 + 16 * i;
        assert_int_equal(reach_scan(&(struct reach_scan){.memory = &m,
                                                         .blocks = &b,
                                                         .n_blocks = 1,
                                                         .roots = &root,
                                                         .n_roots = 1},
                                    &got),
                         0);
        assert_int_equal(got.graph.first[2], got.graph.first[1] + 1);
        kind = reach_edge_kind(got.graph.edges[got.graph.first[1]]);
        reach_scanned_done(&got);
        return kind;
}

static void test_heuristics(void **state) {
        const uint64_t vtable = BASE + 8 * 3000;

        (void)state;
        assert_int_equal(kind_of(0, 64, (uint64_t[]){0}, 1), EDGE_START);
        assert_int_equal(kind_of(24, 24 + 11, (uint64_t[]){5, 10}, 2), EDGE_STDSTRING);
        assert_int_equal(kind_of(24, 24 + 12, (uint64_t[]){5, 10}, 2), EDGE_INTERIOR);
        assert_int_equal(kind_of(24, 24 + 11, (uint64_t[]){11, 10}, 2), EDGE_INTERIOR);
        assert_int_equal(kind_of(8, 108, (uint64_t[]){100}, 1), EDGE_LENGTH64);
        assert_int_equal(kind_of(8, 108, (uint64_t[]){10}, 1), EDGE_NEWARRAY);
        assert_int_equal(kind_of(8, 108, (uint64_t[]){11}, 1), EDGE_INTERIOR);
        assert_int_equal(kind_of(16, 64, (uint64_t[]){vtable, 0, vtable + 16}, 3),
                         EDGE_MULTIPLE_INHERITANCE);
        assert_int_equal(kind_of(16, 64, (uint64_t[]){vtable, 0, vtable + 8 * 100}, 3),
                         EDGE_INTERIOR);
        assert_int_equal(kind_of(20, 64, (uint64_t[]){vtable, 0, vtable}, 3), EDGE_INTERIOR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_pointer_is_found),
                cmocka_unit_test(test_blocks_that_overlap_are_refused),
                cmocka_unit_test(test_no_blocks),
                cmocka_unit_test(test_heuristics),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
