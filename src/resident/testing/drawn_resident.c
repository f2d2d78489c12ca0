/* SPDX-License-Identifier: MIT */
#include "resident/testing/drawn_resident.h"

#include <stdio.h>

static uint64_t draw(uint64_t *state, uint64_t below) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return below ? *state % below : 0;
}

static void draw_areas(struct resident *r, uint64_t *s) {
        uint64_t at = 0x400000, n = 1 + draw(s, 40);
        char name[64];

        for (uint64_t i = 0; i < n; i++) {
                struct resident_area a = {.begin = at, .size_bytes = (1 + draw(s, 100)) * 4096};

                snprintf(name, sizeof(name), "/lib/lib%u.so", (unsigned)draw(s, 9));
                a.kind = (uint32_t)draw(s, RESIDENT_N_KINDS);
                a.name = resident_add_name(r, a.kind == RESIDENT_BRK ? "[heap]" : name);
                a.tid = a.kind == RESIDENT_STACK ? 100 + (uint32_t)i : 0;
                a.rss_bytes = draw(s, a.size_bytes / 4096 + 1) * 4096;
                a.pss_bytes = draw(s, a.rss_bytes + 1);
                a.anon_bytes = a.private_dirty_bytes = draw(s, a.rss_bytes + 1);
                if (a.kind <= RESIDENT_BRK) {
                        a.heap_rss_bytes = a.rss_bytes;
                        a.n_blocks = draw(s, 100);
                        a.asked_bytes = draw(s, a.size_bytes);
                        a.resident_asked_bytes = draw(s, a.rss_bytes / 4 + 1);
                }
                r->rss_bytes += a.rss_bytes;
                r->pss_bytes += a.pss_bytes;
                r->heap.rss_bytes += a.heap_rss_bytes;
                r->heap.n_blocks += a.n_blocks;
                r->heap.asked_bytes += a.asked_bytes;
                r->heap.resident_asked_bytes += a.resident_asked_bytes;
                vec_push(&r->areas, a);
                at += a.size_bytes + draw(s, 2) * 65536;
        }
}

static void draw_heap(struct resident *r, uint64_t *s) {
        struct resident_heap *h = &r->heap;
        uint64_t rest = h->rss_bytes - h->resident_asked_bytes;

        rest -= h->rounding_bytes = draw(s, rest / 4 + 1);
        rest -= h->header_bytes = draw(s, rest / 4 + 1);
        rest -= h->between_bytes = draw(s, rest + 1);
        h->empty_bytes = rest;
        for (size_t i = 0; i < RESIDENT_N_FILLS; i++)
                h->n_pages[i] = draw(s, 1000);
}

void drawn_resident(struct resident *r, uint64_t seed) {
        uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;

        *r = (struct resident){.page_bytes = 4096, .has_blocks = true, .has_asked = true};
        resident_add_name(r, "");
        draw_areas(r, &s);
        draw_heap(r, &s);
        r->swap_bytes = draw(&s, 1 << 20);
        r->page_table_bytes = draw(&s, 1 << 20);
        r->cost_ns = draw(&s, 1 << 30);
        r->cgroup = (struct resident_cgroup){.path = resident_add_name(r, "/sys/fs/cgroup/a"),
                                             .version = 2,
                                             .usage_bytes = draw(&s, 1 << 30),
                                             .limit_bytes = UINT64_MAX,
                                             .n_processes = 3};
        for (uint64_t i = draw(&s, 20); i > 0; i--)
                vec_push(&r->pins, (struct resident_pin){.stack = (uint32_t)draw(&s, 1000),
                                                         .n_pages = i,
                                                         .n_alone = i / 2,
                                                         .n_blocks = i,
                                                         .block_bytes = i * 96,
                                                         .free_bytes = i * 4000});
        for (uint64_t i = draw(&s, 9); i > 0; i--)
                vec_push(&r->frees,
                         (struct resident_free){.name = resident_add_name(r, "arena 3: bins"),
                                                .bytes = draw(&s, 1 << 20),
                                                .releasable_bytes = i * 4096});
        vec_push(&r->allocators, (struct resident_allocator){.name = resident_add_name(r, "glibc"),
                                                             .n_frees = (uint32_t)r->frees.n});
        for (uint64_t i = 0, n = draw(&s, 60); i < n; i++)
                vec_push(&r->cells,
                         (struct resident_cell){.begin = 0x1000000 + i * 65536,
                                                .n_pages = 16,
                                                .n_resident_pages = (uint32_t)draw(&s, 17),
                                                .live_bytes = draw(&s, 65536),
                                                .oldest_ns = draw(&s, 1 << 30),
                                                .stack = (uint32_t)draw(&s, 100)});
}
