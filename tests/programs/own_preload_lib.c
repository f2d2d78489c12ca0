/* SPDX-License-Identifier: MIT */
/* A preloaded library of the user's own that wraps malloc: it keeps a header of 16 bytes before each block, so its
 * pointers are not the real allocator's, and counts the calls. See own_preload.c. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

_Atomic unsigned long wrapped_calls;

void *malloc(size_t size) {
        size_t *block = __libc_malloc(size + 16);

        atomic_fetch_add(&wrapped_calls, 1);
        if (!block)
                return NULL;
        block[0] = size;
        return block + 2;
}

void free(void *block) {
        if (!block)
                return;
        atomic_fetch_add(&wrapped_calls, 1);
        __libc_free((size_t *)block - 2);
}

void *calloc(size_t n, size_t size) {
        void *block = malloc(n * size); /* a call inside: counts once, as calloc's */

        return block ? memset(block, 0, n * size) : NULL;
}

void *realloc(void *block, size_t size) {
        void *moved = malloc(size);

        if (block && moved) {
                size_t old = ((size_t *)block)[-2];
                memcpy(moved, block, old < size ? old : size);
                free(block);
        }
        return moved;
}
