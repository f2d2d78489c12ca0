/* SPDX-License-Identifier: MIT */
/* An allocator that may be interrupted anywhere: a block is one atomic addition, nothing is ever
 * reused. Preloaded by tests whose signal handlers allocate at any instruction, which glibc's
 * malloc does not allow. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Alignas(16) char pool[256 << 20];
static _Atomic size_t used;
_Atomic unsigned long bump_n_calls;

void *malloc(size_t size) {
        size_t whole = ((size + 15) & ~(size_t)15) + 16;
        size_t at = atomic_fetch_add(&used, whole);

        atomic_fetch_add(&bump_n_calls, 1);
        if (at + whole > sizeof(pool))
                return NULL;
        *(size_t *)(void *)(pool + at) = size;
        return pool + at + 16;
}

void free(void *block) {
        (void)block;
}

void *calloc(size_t n, size_t size) {
        return malloc(n * size);
}

void *realloc(void *block, size_t size) {
        void *moved = malloc(size);
        if (block && moved) {
                size_t old = ((size_t *)block)[-2];
                memcpy(moved, block, old < size ? old : size);
        }
        return moved;
}
