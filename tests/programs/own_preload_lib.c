/* SPDX-License-Identifier: MIT */
/* A preloaded library of the user's own that wraps the malloc family: it keeps a header of 16 bytes
 * before each block, so its pointers are not the real allocator's, and counts the calls. See
 * own_preload.c. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

_Atomic unsigned long wrapped_calls;

struct header {
        void *base; /* what __libc_malloc gave */
        size_t size;
};

/* Public by the same name as in libc, so that the calls from calloc and realloc below go through
 * the front door. */
void *memalign(size_t alignment, size_t size) {
        if (alignment < sizeof(struct header))
                alignment = sizeof(struct header);
        if (size > PTRDIFF_MAX - 2 * alignment)
                return NULL;
        char *base = __libc_malloc(size + alignment + sizeof(struct header));

        atomic_fetch_add(&wrapped_calls, 1);
        if (!base)
                return NULL;
        uintptr_t at = ((uintptr_t)base + sizeof(struct header) + alignment - 1) &
                       ~(uintptr_t)(alignment - 1);
        ((struct header *)at)[-1] = (struct header){base, size};
        return (void *)at;
}

void *malloc(size_t size) {
        return memalign(sizeof(struct header), size);
}

void free(void *block) {
        if (!block)
                return;
        atomic_fetch_add(&wrapped_calls, 1);
        __libc_free(((struct header *)block)[-1].base);
}

void *calloc(size_t n, size_t size) {
        size_t bytes;
        void *block = __builtin_mul_overflow(n, size, &bytes) ? NULL : malloc(bytes);

        return block ? memset(block, 0, bytes) : NULL;
}

void *realloc(void *block, size_t size) {
        void *moved = malloc(size);

        if (block && moved) {
                size_t old = ((struct header *)block)[-1].size;
                memcpy(moved, block, old < size ? old : size);
                free(block);
        }
        return moved;
}

void *reallocarray(void *block, size_t n, size_t size) {
        size_t bytes;

        return __builtin_mul_overflow(n, size, &bytes) ? NULL : realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t size) {
        return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size) {
        void *block = memalign(alignment, size);

        if (!block)
                return ENOMEM;
        *ret = block;
        return 0;
}

void *valloc(size_t size) {
        return memalign(4096, size);
}

void *pvalloc(size_t size) {
        return memalign(4096, size);
}
