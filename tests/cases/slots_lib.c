/* SPDX-License-Identifier: MIT */
/* An allocator that may be interrupted anywhere, and whose addresses come again at once, to whichever thread or handler asks
 * next: a block is the first of 16,384 places that is free. Larger ones are never reused. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SLOT_BYTES = 1024, N_WORDS = 256, LARGE_BYTES = 16 << 20 };

static _Alignas(SLOT_BYTES) char slots[N_WORDS * 64][SLOT_BYTES];
static _Alignas(64) char large[LARGE_BYTES];
static _Atomic uint64_t taken[N_WORDS];
static _Atomic size_t n_large_bytes;

static void *large_block(size_t size) {
        size_t whole = ((size + 63) & ~(size_t)63) + 64,
               at = atomic_fetch_add(&n_large_bytes, whole);

        if (at + whole > LARGE_BYTES)
                return NULL;
        *(size_t *)(void *)(large + at) = size;
        return large + at + 64;
}

/* No function calls another one that a program may call too: what a handler leaves by a jump is then one call. */
static void *take(size_t size) {
        if (size > SLOT_BYTES)
                return large_block(size);
        for (size_t i = 0; i < N_WORDS; i++) {
                uint64_t now = atomic_load(&taken[i]);

                while (~now) {
                        uint64_t bit = ~now & (now + 1);

                        now = atomic_fetch_or(&taken[i], bit);
                        if (!(now & bit))
                                return slots[i * 64 + (size_t)__builtin_ctzll(bit)];
                }
        }
        return NULL;
}

static int is_slot(const void *block) {
        return (const char *)block >= slots[0] && (const char *)block < slots[N_WORDS * 64];
}

void *malloc(size_t size) {
        return take(size);
}

static void give(void *block) {
        size_t i;

        if (!block || !is_slot(block))
                return;
        i = (size_t)((char *)block - slots[0]) / SLOT_BYTES;
        atomic_fetch_and(&taken[i / 64], ~((uint64_t)1 << i % 64));
}

void free(void *block) {
        give(block);
}

void *calloc(size_t n, size_t size) {
        void *block = take(n * size);

        return block ? memset(block, 0, n * size) : NULL;
}

void *memalign(size_t alignment, size_t size) {
        return alignment <= SLOT_BYTES ? take(size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
        return alignment <= SLOT_BYTES ? take(size) : NULL;
}

void *realloc(void *block, size_t size) {
        void *moved = take(size);
        size_t old = !block           ? 0
                     : is_slot(block) ? SLOT_BYTES
                                      : *(size_t *)(void *)((char *)block - 64);

        if (block && moved) {
                memcpy(moved, block, old < size ? old : size);
                give(block);
        }
        return moved;
}
