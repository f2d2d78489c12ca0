/* SPDX-License-Identifier: MIT */
#include "attach/jemalloc_caches.h"

#include "base/macros.h"
#include "base/map.h"

/* The first word of the block in which a cache has its pointers. */
#define FIRST_WORD UINT64_C(0x7a7a7a7a7a7a7a7a)
#define MAX_SCAN_BYTES (UINT64_C(512) << 20)

enum { AT_ONCE = 512, BIN_WORDS = 3 };

struct caches {
        const struct memory *memory;
        VEC(struct memory_span) stacks; /* by address */
        struct map cached;              /* address */
        uint64_t n_scan_bytes_left;
};

static const struct memory_span *stack_at(const struct caches *c, uint64_t addr) {
        size_t low = 0, high = c->stacks.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (c->stacks.items[mid].end <= addr)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < c->stacks.n && c->stacks.items[low].begin <= addr ? &c->stacks.items[low]
                                                                       : NULL;
}

/* A bin's pointers end where the lowest bits of the address are those; above it are the next one's. Its own begin at the lowest that is in use. */
static void look_at_bin(struct caches *c, const uint64_t *bin) {
        const struct memory_span *stack = stack_at(c, bin[0]);
        uint16_t head = (uint16_t)bin[0], full = (uint16_t)(bin[2] >> 16),
                 empty = (uint16_t)(bin[2] >> 32);
        unsigned n_bytes = (uint16_t)(empty - head), max_bytes = (uint16_t)(empty - full);
        uint64_t words[UINT16_MAX / 8];

        if (!stack || bin[0] % 8 || n_bytes % 8 || max_bytes % 8 || n_bytes > max_bytes ||
            n_bytes > stack->end - bin[0] || max_bytes - n_bytes > bin[0] - stack->begin ||
            !n_bytes || !c->memory->read(c->memory->ctx, bin[0], words, n_bytes))
                return;
        for (unsigned i = 0; i < n_bytes / 8; i++)
                *map_put(&c->cached, words[i], 0, NULL) = 1;
}

/* Bins are among a thread's variables. */
static void scan(struct caches *c, uint64_t begin, uint64_t end) {
        uint64_t words[AT_ONCE + BIN_WORDS - 1];

        for (uint64_t at = ALIGN_UP(begin, (uint64_t)8); at + BIN_WORDS * 8 <= end;
             at += AT_ONCE * 8) {
                size_t n = (size_t)MIN((end - at) / 8, (uint64_t)ARRAY_SIZE(words));

                if (c->n_scan_bytes_left < n * 8 ||
                    !c->memory->read(c->memory->ctx, at, words, n * 8))
                        return;
                c->n_scan_bytes_left -= n * 8;
                for (size_t i = 0; i + BIN_WORDS <= n && i < AT_ONCE; i++)
                        if (words[i] >= c->stacks.items[0].begin &&
                            words[i] < c->stacks.items[c->stacks.n - 1].end)
                                look_at_bin(c, words + i);
        }
}

static void scan_between(struct caches *c, const struct memory_span *extents, size_t n_extents) {
        size_t k = 0;

        for (size_t i = 0; i < c->memory->n_spans; i++) {
                uint64_t at = c->memory->spans[i].begin, end = c->memory->spans[i].end;

                while (k < n_extents && extents[k].end <= at)
                        k++;
                for (; k < n_extents && extents[k].begin < end; k++) {
                        scan(c, at, MAX(at, extents[k].begin));
                        at = MAX(at, extents[k].end);
                }
                scan(c, MIN(at, end), end);
        }
}

static void find_stacks(struct caches *c, const struct heap_list *list) {
        for (size_t i = 0; i < list->blocks.n; i++) {
                const struct heap_block *b = &list->blocks.items[i];
                uint64_t word;

                if (b->size_bytes >= 4096 &&
                    c->memory->read(c->memory->ctx, b->address, &word, sizeof(word)) &&
                    word == FIRST_WORD)
                        vec_push(&c->stacks,
                                 (struct memory_span){b->address, b->address + b->size_bytes});
        }
}

static void drop(const struct caches *c, struct heap_list *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->blocks.n; i++) {
                const struct heap_block b = list->blocks.items[i];
                const struct memory_span *stack = stack_at(c, b.address);
                uint64_t unused;

                if (stack)
                        vec_push(&list->own, *stack);
                else if (!map_get(&c->cached, b.address, &unused))
                        list->blocks.items[n++] = b;
                else
                        heap_frees_add(&list->frees, (struct heap_free){b.address, b.size_bytes,
                                                                        HEAP_FREE_CACHED, 0, 1});
        }
        list->blocks.n = n;
}

static size_t n_known(const struct caches *c, const struct heap_list *list) {
        size_t n = 0;
        uint64_t unused;

        for (size_t i = 0; i < list->blocks.n; i++)
                n += map_get(&c->cached, list->blocks.items[i].address, &unused);
        return n;
}

void jemalloc_caches_drop(const struct memory *m, const struct memory_span *extents,
                          size_t n_extents, struct heap_list *list) {
        struct caches c = {.memory = m, .n_scan_bytes_left = MAX_SCAN_BYTES};

        find_stacks(&c, list);
        if (c.stacks.n) {
                scan_between(&c, extents, n_extents);
                /* each of them is a block, or what was read was no bin */
                if (c.cached.n && n_known(&c, list) == c.cached.n)
                        drop(&c, list);
        }
        map_done(&c.cached);
        vec_free(&c.stacks);
}
