/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

struct arena_block {
        struct arena_block *next;
        size_t size_bytes;
        _Alignas(16) char bytes[];
};

struct arena {
        struct arena_block *blocks; /* newest first; only the newest has room */
        size_t used_bytes;          /* in the newest block */
        size_t total_bytes;
};

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

static void *arena_must(void *p) {
        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

struct arena *arena_new(void) {
        return arena_must(calloc(1, sizeof(struct arena)));
}

struct arena *arena_free(struct arena *a) {
        struct arena_block *b, *next;

        if (!a)
                return NULL;
        for (b = a->blocks; b; b = next) {
                next = b->next;
                free(b);
        }
        free(a);
        return NULL;
}

void *arena_alloc(struct arena *a, size_t size_bytes) {
        struct arena_block *b = a->blocks;
        size_t need = ALIGN_UP(MAX(size_bytes, (size_t)1), 16);
        void *p;

        if (!b || b->size_bytes - a->used_bytes < need) {
                size_t block_bytes = MAX(need, (size_t)ARENA_BLOCK_BYTES);

                b = arena_must(calloc(1, sizeof(*b) + block_bytes));
                b->size_bytes = block_bytes;
                b->next = a->blocks;
                a->blocks = b;
                a->used_bytes = 0;
                a->total_bytes += block_bytes;
        }
        p = b->bytes + a->used_bytes;
        a->used_bytes += need;
        return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t size_bytes) {
        void *copy = arena_alloc(a, size_bytes);

        if (size_bytes)
                memcpy(copy, p, size_bytes);
        return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
        char *copy = arena_alloc(a, n + 1);

        memcpy(copy, s, n);
        return copy;
}

char *arena_strdup(struct arena *a, const char *s) {
        return arena_strndup(a, s, strlen(s));
}

size_t arena_size_bytes(const struct arena *a) {
        return a->total_bytes;
}
