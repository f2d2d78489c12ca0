/* SPDX-License-Identifier: MIT */
#include "attach/testing/malloc_heap_fake.h"

#include <string.h>

enum {
        HEAP_BYTES = FAKE_HEAP_WORDS * 8,
        OTHER_BYTES = FAKE_WORDS * 8,
        MAPPED_BYTES = HEAP_FAKE_MAPPED_WORDS * 8,
        PAGE_BYTES = 4096,
        IN_USE = 1, /* of the chunk before */
        OTHERS = 4,
        MMAPPED = 2,
        OFF_FAST = 16,
        CACHE_BYTES = 0x290,
};

/* Where chunks begin. */
enum {
        CACHE = 0,
        FIRST = CACHE_BYTES,
        UNSORTED = FIRST + 64,
        FAST_1 = UNSORTED + 96,
        FAST_2 = FAST_1 + 48,
        CACHED_1 = FAST_2 + 48,
        CACHED_2 = CACHED_1 + 32,
        SECOND = CACHED_2 + 32,
        THIRD = SECOND + 1040,
        TOP = 4096,
        OTHER_FIRST = 2256,
        OTHER_SECOND = OTHER_FIRST + 640,
        OTHER_TOP = OTHER_BYTES - 512,
};

const struct malloc_block heap_fake_blocks[HEAP_FAKE_BLOCKS] = {
        {FAKE_HEAP + FIRST + 16, UNSORTED - FIRST - 8},
        {FAKE_HEAP + SECOND + 16, THIRD - SECOND - 8},
        {FAKE_HEAP + THIRD + 16, TOP - THIRD - 8},
        {FAKE_OTHER + OTHER_FIRST + 16, OTHER_SECOND - OTHER_FIRST - 8},
        {FAKE_OTHER + OTHER_SECOND + 16, OTHER_TOP - OTHER_SECOND - 8},
        {FAKE_MAPPED + 16, PAGE_BYTES - 16},
        {FAKE_MAPPED + PAGE_BYTES + 16, PAGE_BYTES - 16},
};

static void put(struct heap_fake *f, uint64_t addr, uint64_t value) {
        *fake_word(&f->arenas, addr) = value;
}

static void put_sizes(struct heap_fake *f) {
        static const int at[] = {CACHE,    FIRST,    UNSORTED, FAST_1, FAST_2,
                                 CACHED_1, CACHED_2, SECOND,   THIRD,  TOP};

        for (unsigned i = 0; i + 1 < sizeof(at) / sizeof(at[0]); i++)
                put(f, FAKE_HEAP + (uint64_t)at[i] + 8, (uint64_t)(at[i + 1] - at[i]) | IN_USE);
        put(f, FAKE_OTHER + OTHER_FIRST + 8, (OTHER_SECOND - OTHER_FIRST) | IN_USE | OTHERS);
        put(f, FAKE_OTHER + OTHER_SECOND + 8, (OTHER_TOP - OTHER_SECOND) | IN_USE | OTHERS);
}

/* A list of two: links mixed with their addresses in the fast list, and in the cache. */
static void put_lists(struct heap_fake *f) {
        uint64_t fast = FAKE_MAIN + OFF_FAST + 8 * (48 / 16 - 2), link = FAKE_HEAP + FAST_2 + 16;
        uint64_t cache = FAKE_HEAP + CACHE + 16;

        put(f, fast, FAKE_HEAP + FAST_2);
        put(f, link, (FAKE_HEAP + FAST_1) ^ link >> 12);
        link = FAKE_HEAP + FAST_1 + 16;
        put(f, link, link >> 12);
        put(f, cache, 2); /* of the smallest size; of all others none */
        put(f, cache + 128, FAKE_HEAP + CACHED_2 + 16);
        link = FAKE_HEAP + CACHED_2 + 16;
        put(f, link, (FAKE_HEAP + CACHED_1 + 16) ^ link >> 12);
        link = FAKE_HEAP + CACHED_1 + 16;
        put(f, link, link >> 12);
}

void heap_fake_fill(struct heap_fake *f) {
        memset(f, 0, sizeof(*f));
        fake_init(&f->arenas);
        put_sizes(f);
        put_lists(f);
        fake_put(&f->arenas, FAKE_MAIN, 1, FAKE_HEAP + UNSORTED, FAST_1 - UNSORTED);
        put(f, FAKE_HEAP + FAST_1 + 8, FAST_2 - FAST_1); /* the one before it is free */
        put(f, FAKE_OTHER + 16, OTHER_BYTES);
        fake_put_params(&f->arenas, FAKE_PARAMS_WORD, true, 2, MAPPED_BYTES);
        f->mapped[1] = f->mapped[PAGE_BYTES / 8 + 1] = PAGE_BYTES | MMAPPED;
}

static bool read_part(const void *part, uint64_t at, size_t part_bytes, uint64_t addr, void *ret,
                      size_t n_bytes) {
        if (addr < at || addr - at > part_bytes || n_bytes > part_bytes - (addr - at))
                return false;
        memcpy(ret, (const uint8_t *)part + (addr - at), n_bytes);
        return true;
}

static bool heap_fake_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct heap_fake_reader *r = ctx;
        const struct heap_fake *f = r->fake;

        if (!r->n_reads_left)
                return false;
        r->n_reads_left--;
        return read_part(f->arenas.heap, FAKE_HEAP, HEAP_BYTES, addr, ret, n_bytes) ||
               read_part(f->arenas.other, FAKE_OTHER, OTHER_BYTES, addr, ret, n_bytes) ||
               read_part(f->mapped, FAKE_MAPPED, MAPPED_BYTES, addr, ret, n_bytes);
}

struct malloc_memory heap_fake_memory(struct heap_fake_reader *r) {
        static const struct memory_span spans[] = {{FAKE_HEAP, FAKE_HEAP + HEAP_BYTES},
                                                   {FAKE_OTHER, FAKE_OTHER + OTHER_BYTES},
                                                   {FAKE_MAPPED, FAKE_MAPPED + MAPPED_BYTES}};

        return (struct malloc_memory){
                .memory = {.read = heap_fake_read, .ctx = r, .spans = spans, .n_spans = 3},
                .brk = spans[0],
                .addr = FAKE_DATA,
                .data = r->fake->arenas.data,
                .n_words = FAKE_WORDS};
}
