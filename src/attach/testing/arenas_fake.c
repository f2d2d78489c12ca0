/* SPDX-License-Identifier: MIT */
#include "attach/testing/arenas_fake.h"

#include <stdlib.h>
#include <string.h>

enum {
        OFF_FAST = 16,
        OFF_TOP = 96,
        OFF_BINS = 112,
        OFF_NEXT = 2160,
        OFF_SYSTEM = 2184,
        N_BINS = 127,
        HEAP_BYTES = FAKE_HEAP_WORDS * 8,
        OTHER_BYTES = FAKE_WORDS * 8,
        OTHER_BEGIN = 2304, /* behind the arena */
};

uint64_t *fake_word(struct fake *f, uint64_t addr) {
        if (addr >= FAKE_DATA && addr < FAKE_DATA + sizeof(f->data))
                return &f->data[(addr - FAKE_DATA) / 8];
        if (addr >= FAKE_HEAP && addr < FAKE_HEAP + sizeof(f->heap))
                return &f->heap[(addr - FAKE_HEAP) / 8];
        if (addr >= FAKE_OTHER && addr < FAKE_OTHER + sizeof(f->other))
                return &f->other[(addr - FAKE_OTHER) / 8];
        abort();
}

static void put(struct fake *f, uint64_t addr, uint64_t value) {
        *fake_word(f, addr) = value;
}

static void put_arena(struct fake *f, uint64_t at, uint64_t next, uint64_t top, uint64_t end,
                      uint64_t system_bytes) {
        for (uint64_t i = 0; i < N_BINS; i++) {
                uint64_t bin = at + OFF_BINS + 16 * i;

                put(f, bin, bin - 16);
                put(f, bin + 8, bin - 16);
        }
        put(f, at + OFF_NEXT, next);
        put(f, at + OFF_NEXT + 16, 1); /* a thread */
        put(f, at + OFF_SYSTEM, system_bytes);
        put(f, at + OFF_SYSTEM + 8, system_bytes);
        put(f, at + OFF_TOP, top);
        put(f, top + 8, (end - top) | 1);
}

void fake_init(struct fake *f) {
        memset(f, 0, sizeof(*f));
        put_arena(f, FAKE_MAIN, FAKE_THREAD, FAKE_HEAP + 4096, FAKE_HEAP + HEAP_BYTES, HEAP_BYTES);
        put(f, FAKE_OTHER, FAKE_THREAD);
        put_arena(f, FAKE_THREAD, FAKE_MAIN, FAKE_OTHER + OTHER_BYTES - 512,
                  FAKE_OTHER + OTHER_BYTES, OTHER_BYTES);
}

void fake_put(struct fake *f, uint64_t arena, unsigned bin, uint64_t at, uint64_t size) {
        uint64_t head = arena + OFF_BINS + 16 * (uint64_t)(bin - 1) - 16;
        uint64_t first = *fake_word(f, head + 16);

        put(f, at + 8, size | 1);
        put(f, at + 16, first);
        put(f, at + 24, head);
        put(f, first + 24, at);
        put(f, head + 16, at);
}

/* In a fast bin, whose links are mixed with their address or plain. */
static void fake_put_fast(struct fake *f, uint64_t arena, uint64_t at, uint64_t size,
                          bool is_mixed) {
        uint64_t head = arena + OFF_FAST + 8 * (size / 16 - 2);
        uint64_t first = *fake_word(f, head);

        put(f, at + 8, size | 1);
        put(f, at + 16, is_mixed ? first ^ ((at + 16) >> 12) : first);
        put(f, head, at);
}

void fake_put_params(struct fake *f, size_t word, bool is_new, uint32_t n_mmaps, uint64_t bytes) {
        const uint64_t begin[] = {131072, 131072, 131072, 8, 0};
        const uint32_t numbers[] = {n_mmaps, 65536, n_mmaps + 3, 0};
        const uint64_t sums[] = {bytes, bytes + 4096};
        uint8_t *at = (uint8_t *)&f->data[word];

        memset(at, 0, 96);
        memcpy(at, begin, sizeof(begin));
        memcpy(at + (is_new ? 60 : 40), numbers, sizeof(numbers));
        memcpy(at + (is_new ? 80 : 56), sums, sizeof(sums));
}

static bool fake_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct fake_reader *r = ctx;

        if (!r->n_reads_left)
                return false;
        r->n_reads_left--;
        if (r->between)
                r->between(r->fake, r->n_reads);
        r->n_reads++;
        if (addr >= FAKE_DATA && addr + n_bytes <= FAKE_DATA + sizeof(r->fake->data))
                memcpy(ret, (uint8_t *)r->fake->data + (addr - FAKE_DATA), n_bytes);
        else if (addr >= FAKE_HEAP && addr + n_bytes <= FAKE_HEAP + sizeof(r->fake->heap))
                memcpy(ret, (uint8_t *)r->fake->heap + (addr - FAKE_HEAP), n_bytes);
        else if (addr >= FAKE_OTHER && addr + n_bytes <= FAKE_OTHER + sizeof(r->fake->other))
                memcpy(ret, (uint8_t *)r->fake->other + (addr - FAKE_OTHER), n_bytes);
        else
                return false;
        return true;
}

bool fake_read_all(struct fake_reader *r, struct arenas_found *ret) {
        static const struct memory_span spans[] = {{FAKE_HEAP, FAKE_HEAP + HEAP_BYTES},
                                                   {FAKE_OTHER, FAKE_OTHER + OTHER_BYTES}};
        struct memory m = {.read = fake_read, .ctx = r, .spans = spans, .n_spans = 2};

        return arenas_read(&m, FAKE_DATA, r->fake->data, FAKE_WORDS, ret);
}

uint64_t fake_fill(struct fake *f) {
        fake_init(f);
        fake_put_params(f, FAKE_PARAMS_WORD, true, 2, 8192);
        fake_put(f, FAKE_MAIN, 1, FAKE_HEAP + 64, 640);  /* unsorted */
        fake_put(f, FAKE_MAIN, 4, FAKE_HEAP + 1024, 64); /* of one size */
        fake_put(f, FAKE_MAIN, 4, FAKE_HEAP + 1104, 64);
        fake_put(f, FAKE_MAIN, 65, FAKE_HEAP + 2048, 1040); /* large */
        fake_put_fast(f, FAKE_MAIN, FAKE_HEAP + 1200, 48, true);
        fake_put_fast(f, FAKE_MAIN, FAKE_HEAP + 1264, 48, true);
        fake_put_fast(f, FAKE_THREAD, FAKE_OTHER + OTHER_BEGIN, 32, false);
        fake_put_fast(f, FAKE_THREAD, FAKE_OTHER + OTHER_BEGIN + 64, 32, false);
        return 640 + 64 + 64 + 1040 + 48 + 48 + 32 + 32 + 4096 + 512;
}
