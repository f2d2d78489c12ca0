/* SPDX-License-Identifier: MIT */
/* Pages and blocks drawn by lot, against a walk that goes over every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "resident/page_walk.h"

enum { PAGE = 4096, N_PAGES = 300, BASE = 0x100000 };

static uint64_t state = 88172645463325252ull;

static uint64_t draw(uint64_t below) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state % below;
}

struct world {
        struct resident r;
        struct page_set pages;
        VEC(struct walk_block) blocks;
};

static void add_run(struct world *w, uint64_t begin, uint64_t n_pages, bool is_mapped) {
        struct page_run run = {begin, n_pages, w->pages.n_bits, w->r.areas.n, is_mapped, false};

        w->pages.n_bits += n_pages;
        while (w->pages.bits.n * 64 < w->pages.n_bits + 64)
                vec_push(&w->pages.bits, 0);
        vec_push(&w->r.areas, (struct resident_area){.begin = begin, .size_bytes = n_pages * PAGE});
        vec_push(&w->pages.runs, run);
        for (uint64_t i = 0; i < n_pages; i++)
                if (draw(4)) {
                        w->pages.bits.items[(run.first_bit + i) / 64] |=
                                1ull << (run.first_bit + i) % 64;
                        w->r.areas.items[run.area].rss_bytes += PAGE;
                        w->r.rss_bytes += PAGE;
                }
}

/* As glibc lays them out: chunks of 16 bytes and their headers. */
static void draw_world(struct world *w) {
        static const uint64_t sizes[] = {1, 24, 25, 96, 600, 5000, 40000};
        uint64_t at = BASE + 16;

        *w = (struct world){0};
        w->r.page_bytes = w->pages.page_bytes = PAGE;
        resident_add_name(&w->r, "");
        add_run(w, BASE, N_PAGES, false);
        add_run(w, BASE + N_PAGES * PAGE, 50, true); /* side by side: a block may reach over */
        while (at < BASE + (N_PAGES + 20) * PAGE) {
                uint64_t size = sizes[draw(ARRAY_SIZE(sizes))] + draw(8);
                uint64_t chunk = MAX(ALIGN_UP(size + 8, 16ull), 32ull);

                if (draw(3))
                        vec_push(&w->blocks, (struct walk_block){at, size, 1 + draw(1000),
                                                                 1 + (uint32_t)draw(5)});
                at += chunk + (draw(20) ? 0 : draw(30000) / 16 * 16);
        }
}

/* What every byte is: 1 asked, 2 rounding, 3 header. */
static uint8_t kinds[(N_PAGES + 50) * PAGE];
static uint32_t owners[(N_PAGES + 50) * PAGE];

static void paint(const struct world *w) {
        memset(kinds, 0, sizeof(kinds));
        for (size_t i = 0; i < w->blocks.n; i++) {
                const struct walk_block *b = &w->blocks.items[i];
                uint64_t chunk = MAX(ALIGN_UP(b->size_bytes + 8, 16ull), 32ull);

                for (uint64_t k = b->address - 8; k < b->address - 8 + chunk; k++) {
                        uint8_t kind = k < b->address ? 3 : k < b->address + b->size_bytes ? 1 : 2;

                        if (k - BASE >= sizeof(kinds))
                                continue;
                        kinds[k - BASE] = kind;
                        owners[k - BASE] = (uint32_t)i + 1;
                }
        }
}

/* Blocks that begin in a resident page: so few pages are a cell each. */
static uint64_t count_begins(const struct world *w) {
        uint64_t n = 0;

        for (size_t i = 0; i < w->blocks.n; i++)
                for (size_t k = 0; k < w->pages.runs.n; k++) {
                        const struct page_run *run = &w->pages.runs.items[k];
                        uint64_t page = (w->blocks.items[i].address - run->begin) / PAGE;

                        n += page < run->n_pages && page_set_has(&w->pages, run, page);
                }
        return n;
}

static void check(struct world *w) {
        uint64_t asked = 0, rounding = 0, header = 0, between = 0, empty = 0, rss = 0, n_pinned = 0,
                 pinned_free = 0, n_alone = 0;
        uint64_t by_pins = 0, free_by_pins = 0, alone_by_pins = 0, cell_pages = 0, cell_live = 0,
                 n_cell_blocks = 0;
        uint64_t n_pages[RESIDENT_N_FILLS] = {0};

        for (size_t i = 0; i < w->pages.runs.n; i++)
                for (uint64_t p = 0; p < w->pages.runs.items[i].n_pages; p++) {
                        uint64_t n[4] = {0}, n_blocks = 0, last = 0;
                        size_t off = (size_t)(w->pages.runs.items[i].begin - BASE + p * PAGE);

                        if (!page_set_has(&w->pages, &w->pages.runs.items[i], p))
                                continue;
                        for (size_t k = off; k < off + PAGE; k++) {
                                n[kinds[k]]++;
                                if (kinds[k] == 1 && owners[k] != last) {
                                        last = owners[k];
                                        n_blocks++;
                                }
                        }
                        if (n[0] == PAGE) {
                                if (!w->pages.runs.items[i].is_mapped) {
                                        empty += PAGE;
                                        rss += PAGE;
                                        n_pages[0]++;
                                }
                                continue;
                        }
                        rss += PAGE;
                        asked += n[1];
                        rounding += n[2];
                        header += n[3];
                        between += n[0];
                        n_pages[MAX((n[1] * 8 + PAGE - 1) / PAGE, 1ull)]++;
                        if (n[1] <= PAGE / 4 && n_blocks) {
                                n_pinned++;
                                pinned_free += n[0];
                                n_alone += n_blocks == 1;
                        }
                }
        assert_int_equal(w->r.heap.rss_bytes, rss);
        assert_int_equal(w->r.heap.resident_asked_bytes, asked);
        assert_int_equal(w->r.heap.rounding_bytes, rounding);
        assert_int_equal(w->r.heap.header_bytes, header);
        assert_int_equal(w->r.heap.between_bytes, between);
        assert_int_equal(w->r.heap.empty_bytes, empty);
        assert_int_equal(asked + rounding + header + between + empty, rss);
        assert_memory_equal(w->r.heap.n_pages, n_pages, sizeof(n_pages));
        for (size_t i = 0; i < w->r.pins.n; i++) {
                by_pins += w->r.pins.items[i].n_pages;
                free_by_pins += w->r.pins.items[i].free_bytes;
                alone_by_pins += w->r.pins.items[i].n_alone;
        }
        assert_int_equal(by_pins, n_pinned);
        assert_int_equal(free_by_pins, pinned_free);
        assert_int_equal(alone_by_pins, n_alone);
        for (size_t i = 0; i < w->r.cells.n; i++) {
                assert_true(!i || w->r.cells.items[i].begin > w->r.cells.items[i - 1].begin);
                cell_pages += w->r.cells.items[i].n_resident_pages;
                cell_live += w->r.cells.items[i].live_bytes;
                n_cell_blocks += w->r.cells.items[i].n_blocks;
        }
        assert_int_equal(cell_pages * PAGE, rss);
        assert_int_equal(cell_live, asked);
        assert_int_equal(n_cell_blocks, count_begins(w));
        assert_int_equal(w->r.areas.items[0].heap_rss_bytes + w->r.areas.items[1].heap_rss_bytes,
                         rss);
        assert_true(w->r.areas.items[1].heap_rss_bytes <= w->r.areas.items[1].rss_bytes);
}

static void shuffle(struct world *w) {
        for (size_t k = w->blocks.n; k-- > 1;) {
                size_t other = (size_t)draw(k + 1);
                struct walk_block b = w->blocks.items[k];

                w->blocks.items[k] = w->blocks.items[other];
                w->blocks.items[other] = b;
        }
}

static void test_against_bytes(void **unused) {
        (void)unused;
        for (int i = 0; i < 60; i++) {
                struct world w;

                draw_world(&w);
                paint(&w);
                shuffle(&w);
                page_walk(&w.r,
                          &(struct page_walk){&w.pages, SIZE_GLIBC, w.blocks.items, w.blocks.n});
                check(&w);
                page_set_done(&w.pages);
                vec_free(&w.blocks);
                resident_done(&w.r);
        }
}

/* Two runs of four resident pages; one block, in the first. */
static void make_two_runs(struct world *w) {
        *w = (struct world){.pages.page_bytes = PAGE};
        w->r.page_bytes = PAGE;
        w->r.has_blocks = true;
        resident_add_name(&w->r, "");
        for (unsigned i = 0; i < 2; i++) {
                add_run(w, BASE + i * 100 * PAGE, 4, false);
                for (size_t bit = w->pages.runs.items[i].first_bit, k = 0; k < 4; k++)
                        w->pages.bits.items[(bit + k) / 64] |= 1ull << (bit + k) % 64;
        }
        vec_push(&w->blocks, ((struct walk_block){BASE + 16, 3 * PAGE, 1, 7}));
}

static void end_world(struct world *w) {
        page_set_done(&w->pages);
        vec_free(&w->blocks);
        resident_done(&w->r);
}

static void test_memory_without_blocks(void **unused) {
        const struct smaps_range known = {BASE + 102 * PAGE, BASE + 103 * PAGE};
        struct world w;

        (void)unused;
        make_two_runs(&w); /* nobody knows whose the second is */
        page_walk(&w.r, &(struct page_walk){&w.pages, SIZE_UNKNOWN, w.blocks.items, w.blocks.n});
        assert_int_equal(w.r.heap.rss_bytes, 4 * PAGE);
        assert_int_equal(w.r.areas.items[1].heap_rss_bytes, 0);
        end_world(&w);
        make_two_runs(&w); /* an earlier look saw blocks there */
        page_walk(&w.r, &(struct page_walk){&w.pages, SIZE_UNKNOWN, w.blocks.items, w.blocks.n,
                                            &known, 1});
        assert_int_equal(w.r.heap.rss_bytes, 8 * PAGE);
        assert_int_equal(w.r.heap.empty_bytes, 4 * PAGE);
        end_world(&w);
}

/* Between the look and the moment of the blocks: what was given back does not count, unless somebody has it again, or the allocator keeps it. */
static void test_released_meanwhile(void **unused) {
        struct smaps_range released[] = {{BASE + 102 * PAGE, BASE + 103 * PAGE},
                                         {BASE + 101 * PAGE + 16, BASE + 102 * PAGE + 100},
                                         {BASE + PAGE, BASE + 4 * PAGE}};
        struct page_walk walk;
        struct world w;

        (void)unused;
        make_two_runs(&w);
        w.r.rss_bytes = 8 * PAGE;
        w.r.areas.items[0].rss_bytes = w.r.areas.items[1].rss_bytes = 4 * PAGE;
        walk = (struct page_walk){.pages = &w.pages,
                                  .model = SIZE_UNKNOWN,
                                  .blocks = w.blocks.items,
                                  .n_blocks = w.blocks.n,
                                  .released = released,
                                  .n_released = ARRAY_SIZE(released)};
        page_walk(&w.r, &walk);
        assert_int_equal(walk.n_released, 2);
        assert_int_equal(w.r.heap.rss_bytes, 4 * PAGE);
        assert_int_equal(w.r.rss_bytes, 6 * PAGE);
        assert_int_equal(w.r.areas.n, 3); /* what is left of the second, on both sides */
        assert_int_equal(w.r.areas.items[0].rss_bytes, 4 * PAGE);
        assert_int_equal(w.r.areas.items[1].begin, BASE + 100 * PAGE);
        assert_int_equal(w.r.areas.items[1].size_bytes, PAGE);
        assert_int_equal(w.r.areas.items[1].rss_bytes, PAGE);
        assert_int_equal(w.r.areas.items[2].begin, BASE + 103 * PAGE);
        assert_int_equal(w.r.areas.items[2].rss_bytes, PAGE);
        end_world(&w);
}

/* A pool's blocks lie inside the one that it took from malloc. */
static void test_blocks_inside_blocks(void **unused) {
        struct world w;

        (void)unused;
        make_two_runs(&w);
        vec_push(&w.blocks, ((struct walk_block){BASE + 16, 64, 2, 8}));
        vec_push(&w.blocks, ((struct walk_block){BASE + 96, 5000, 3, 8}));
        page_walk(&w.r, &(struct page_walk){&w.pages, SIZE_UNKNOWN, w.blocks.items, w.blocks.n});
        assert_int_equal(w.r.heap.n_blocks, 1);
        assert_int_equal(w.r.heap.asked_bytes, 3 * PAGE);
        assert_int_equal(w.r.heap.resident_asked_bytes, 3 * PAGE);
        assert_int_equal(w.r.heap.between_bytes, PAGE);
        end_world(&w);
}

/* So many that they are not compared one by one, far apart, and at each address one that the larger one hides. */
static void test_many_at_one_address(void **unused) {
        enum { N = 3000 };
        struct world w;

        (void)unused;
        make_two_runs(&w);
        w.blocks.items[0] = (struct walk_block){BASE + 16, 32, 1, 7};
        for (uint64_t i = 1; i < N; i++) {
                uint64_t far = i % 3 ? 0 : (i % 7) << 40; /* in no run */

                vec_push(&w.blocks, ((struct walk_block){BASE + far + i * 48 + 16, 8, 1, 8}));
                vec_push(&w.blocks, ((struct walk_block){BASE + far + i * 48 + 16, 32, 1, 7}));
        }
        shuffle(&w);
        page_walk(&w.r, &(struct page_walk){&w.pages, SIZE_UNKNOWN, w.blocks.items, w.blocks.n});
        assert_int_equal(w.r.heap.n_blocks, N);
        assert_int_equal(w.r.heap.asked_bytes, N * 32);
        for (size_t i = 0; i < N; i++) {
                assert_int_equal(w.blocks.items[i].size_bytes, 32);
                assert_true(!i || w.blocks.items[i].address > w.blocks.items[i - 1].address);
        }
        end_world(&w);
}

static void test_size_classes(void **unused) {
        (void)unused;
        assert_int_equal(size_room_of(SIZE_GLIBC, 0x1010, 24, PAGE).room_bytes, 32);
        assert_int_equal(size_room_of(SIZE_GLIBC, 0x1010, 25, PAGE).room_bytes, 48);
        assert_int_equal(size_room_of(SIZE_GLIBC, 0x1010, 200000, PAGE).room_bytes, 49 * PAGE);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 1, PAGE).room_bytes, 8);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 100, PAGE).room_bytes, 112);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 128, PAGE).room_bytes, 128);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 129, PAGE).room_bytes, 160);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 1025, PAGE).room_bytes, 1280);
        assert_int_equal(size_room_of(SIZE_JEMALLOC, 0x1000, 17000, PAGE).room_bytes, 20480);
        assert_int_equal(size_room_of(SIZE_MIMALLOC, 0x1000, 65, PAGE).room_bytes, 80);
        assert_int_equal(size_room_of(SIZE_GLIBC, 0x1010, 33 * PAGE - 18, PAGE).room_bytes,
                         34 * PAGE);
        assert_int_equal(size_room_of(SIZE_MIMALLOC, 0x1000, (128 << 10) + 1, PAGE).room_bytes,
                         192 << 10);
        assert_int_equal(size_room_of(SIZE_MIMALLOC, 0x1000, (1 << 20) + 1, PAGE).room_bytes,
                         1536 << 10);
        assert_int_equal(size_room_of(SIZE_TCMALLOC, 0x1000, 800, PAGE).room_bytes, 896);
        assert_int_equal(size_room_of(SIZE_TCMALLOC, 0x1000, 32769, PAGE).room_bytes, 40960);
        /* by the name that recordings have for it */
        assert_int_equal(size_room_of(size_model_of("gperftools"), 0x1000, 1100, PAGE).room_bytes,
                         1152);
        assert_int_equal(size_room_of(SIZE_UNKNOWN, 0x1000, 77, PAGE).room_bytes, 77);
        assert_int_equal(size_model_of("jemalloc"), SIZE_JEMALLOC);
        assert_int_equal(size_model_of("my own"), SIZE_UNKNOWN);
        for (enum size_model m = SIZE_GLIBC; m <= SIZE_TCMALLOC; m++)
                assert_int_equal(size_model_of(size_model_name(m)), m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_against_bytes),
                cmocka_unit_test(test_memory_without_blocks),
                cmocka_unit_test(test_released_meanwhile),
                cmocka_unit_test(test_blocks_inside_blocks),
                cmocka_unit_test(test_many_at_one_address),
                cmocka_unit_test(test_size_classes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
