/* SPDX-License-Identifier: MIT */
/* All of mimalloc's functions. */
#include <mimalloc.h>
#include <string.h>

#include "drill.h"

#define HERE mi_heap_get_default()

/* 2.0.9 does not always align blocks of 256 bytes to 256. */
static void *out(size_t a, size_t n) {
        void *p = NULL;

        return mi_posix_memalign(&p, a, n) == 0 ? p : NULL;
}

/* A string of n - 1 letters: n bytes. */
static const char *text(size_t n) {
        static __thread char letters[500000];

        memset(letters, 'x', n - 1);
        letters[n - 1] = '\0';
        return letters;
}

#define SMALL (n < MI_SMALL_SIZE_MAX ? n : MI_SMALL_SIZE_MAX)

/* clang-format off */
#define TAKES(X) \
        X(malloc, mi_malloc(n), n, 0) \
        X(calloc, mi_calloc(n / 8, 8), n / 8 * 8, 0) \
        X(realloc, mi_realloc(NULL, n), n, 0) \
        X(zalloc, mi_zalloc(n), n, 0) \
        X(malloc_small, mi_malloc_small(SMALL), SMALL, 0) \
        X(zalloc_small, mi_zalloc_small(SMALL), SMALL, 0) \
        X(mallocn, mi_mallocn(n / 16, 16), n / 16 * 16, 0) \
        X(strdup, mi_strdup(text(n)), n, 0) \
        X(strndup, mi_strndup(text(n), n / 2), n / 2 + 1, 0) \
        X(mbsdup, (void *)mi_mbsdup((const unsigned char *)text(n)), n, 0) \
        X(posix_memalign, out(256, n), n, 16) \
        X(memalign, mi_memalign(64, n), n, 64) \
        X(aligned_alloc, mi_aligned_alloc(64, n / 64 * 64 + 64), n / 64 * 64 + 64, 64) \
        X(valloc, mi_valloc(n), n, 4096) \
        X(pvalloc, mi_pvalloc(n), n, 4096) \
        X(malloc_aligned, mi_malloc_aligned(n, 128), n, 128) \
        X(malloc_aligned_at, mi_malloc_aligned_at(n, 128, 0), n, 128) \
        X(zalloc_aligned, mi_zalloc_aligned(n, 128), n, 128) \
        X(zalloc_aligned_at, mi_zalloc_aligned_at(n, 128, 8), n, 0) \
        X(calloc_aligned, mi_calloc_aligned(n / 8, 8, 64), n / 8 * 8, 64) \
        X(calloc_aligned_at, mi_calloc_aligned_at(n / 8, 8, 64, 0), n / 8 * 8, 64) \
        X(heap_malloc, mi_heap_malloc(HERE, n), n, 0) \
        X(heap_zalloc, mi_heap_zalloc(HERE, n), n, 0) \
        X(heap_calloc, mi_heap_calloc(HERE, n / 8, 8), n / 8 * 8, 0) \
        X(heap_mallocn, mi_heap_mallocn(HERE, n / 8, 8), n / 8 * 8, 0) \
        X(heap_malloc_small, mi_heap_malloc_small(HERE, SMALL), SMALL, 0) \
        X(heap_strdup, mi_heap_strdup(HERE, text(n)), n, 0) \
        X(heap_strndup, mi_heap_strndup(HERE, text(n), n / 2), n / 2 + 1, 0) \
        X(heap_malloc_aligned, mi_heap_malloc_aligned(HERE, n, 64), n, 64) \
        X(heap_malloc_aligned_at, mi_heap_malloc_aligned_at(HERE, n, 64, 0), n, 64) \
        X(heap_zalloc_aligned, mi_heap_zalloc_aligned(HERE, n, 64), n, 64) \
        X(heap_zalloc_aligned_at, mi_heap_zalloc_aligned_at(HERE, n, 64, 0), n, 64) \
        X(heap_calloc_aligned, mi_heap_calloc_aligned(HERE, n / 8, 8, 64), n / 8 * 8, 64) \
        X(heap_calloc_aligned_at, mi_heap_calloc_aligned_at(HERE, n / 8, 8, 64, 0), n / 8 * 8, 64) \
        X(new, mi_new(n), n, 0) \
        X(new_nothrow, mi_new_nothrow(n), n, 0) \
        X(new_aligned, mi_new_aligned(n, 64), n, 64) \
        X(new_aligned_nothrow, mi_new_aligned_nothrow(n, 64), n, 64) \
        X(new_n, mi_new_n(n / 8, 8), n / 8 * 8, 0)
#define RESIZES(X) \
        X(realloc, mi_realloc(b->p, n), n, 0) \
        X(reallocn, mi_reallocn(b->p, n / 8, 8), n / 8 * 8, 0) \
        X(reallocf, mi_reallocf(b->p, n), n, 0) \
        X(reallocarray, mi_reallocarray(b->p, n / 8, 8), n / 8 * 8, 0) \
        X(rezalloc, mi_rezalloc(b->p, n), n, 0) \
        X(recalloc, mi_recalloc(b->p, n / 8, 8), n / 8 * 8, 0) \
        X(realloc_aligned, mi_realloc_aligned(b->p, n, 64), n, 0) \
        X(realloc_aligned_at, mi_realloc_aligned_at(b->p, n, 64, 0), n, 64) \
        X(rezalloc_aligned, mi_rezalloc_aligned(b->p, n, 64), n, 0) \
        X(rezalloc_aligned_at, mi_rezalloc_aligned_at(b->p, n, 64, 0), n, 64) \
        X(recalloc_aligned, mi_recalloc_aligned(b->p, n / 8, 8, 64), n / 8 * 8, 0) \
        X(recalloc_aligned_at, mi_recalloc_aligned_at(b->p, n / 8, 8, 64, 0), n / 8 * 8, 64) \
        X(heap_realloc, mi_heap_realloc(HERE, b->p, n), n, 0) \
        X(heap_reallocn, mi_heap_reallocn(HERE, b->p, n / 8, 8), n / 8 * 8, 0) \
        X(heap_reallocf, mi_heap_reallocf(HERE, b->p, n), n, 0) \
        X(heap_rezalloc, mi_heap_rezalloc(HERE, b->p, n), n, 0) \
        X(heap_recalloc, mi_heap_recalloc(HERE, b->p, n / 8, 8), n / 8 * 8, 0) \
        X(heap_realloc_aligned, mi_heap_realloc_aligned(HERE, b->p, n, 64), n, 0) \
        X(heap_realloc_aligned_at, mi_heap_realloc_aligned_at(HERE, b->p, n, 64, 0), n, 64) \
        X(heap_rezalloc_aligned, mi_heap_rezalloc_aligned(HERE, b->p, n, 64), n, 0) \
        X(heap_rezalloc_aligned_at, mi_heap_rezalloc_aligned_at(HERE, b->p, n, 64, 0), n, 64) \
        X(heap_recalloc_aligned, mi_heap_recalloc_aligned(HERE, b->p, n / 8, 8, 64), n / 8 * 8, 0) \
        X(heap_recalloc_aligned_at, mi_heap_recalloc_aligned_at(HERE, b->p, n / 8, 8, 64, 0), n / 8 * 8, 64) \
        X(aligned_recalloc, mi_aligned_recalloc(b->p, n / 8, 8, 64), n / 8 * 8, 0) \
        X(aligned_offset_recalloc, mi_aligned_offset_recalloc(b->p, n / 8, 8, 64, 0), n / 8 * 8, 0) \
        X(new_realloc, mi_new_realloc(b->p, n), n, 0) \
        X(new_reallocn, mi_new_reallocn(b->p, n / 8, 8), n / 8 * 8, 0)
#define GIVES(X) \
        X(free, mi_free(b->p)) \
        X(cfree, mi_cfree(b->p)) \
        X(free_size, mi_free_size(b->p, b->n)) \
        X(free_size_aligned, mi_free_size_aligned(b->p, b->n, b->align ? b->align : 1)) \
        X(free_aligned, mi_free_aligned(b->p, b->align ? b->align : 1))
#define FAILS(X) \
        X(malloc, mi_malloc(n)) \
        X(calloc, mi_calloc(n, 64)) \
        X(zalloc, mi_zalloc(n)) \
        X(malloc_aligned, mi_malloc_aligned(n, 64)) \
        X(posix_memalign, out(64, n)) \
        X(heap_malloc, mi_heap_malloc(HERE, n))

#define DO_TAKE(name, expr, counted, alignment) TAKE(take_##name, expr, counted, alignment)
#define DO_RESIZE(name, expr, counted, alignment) RESIZE(resize_##name, expr, counted, alignment)
#define DO_GIVE(name, call) GIVE(give_##name, call)
#define DO_FAIL(name, expr) FAIL(fail_##name, expr)
TAKES(DO_TAKE)
RESIZES(DO_RESIZE)
GIVES(DO_GIVE)
FAILS(DO_FAIL)

/* Grows into what it has already, or not at all. */
static void in_place(struct block *b, size_t n) {
        if (mi_expand(b->p, n))
                b->n = n;
}

#define A_TAKE(name, ...) {"mi_" #name, DRILL_TAKE, take_##name, false},
#define A_RESIZE(name, ...) {"mi_" #name, DRILL_RESIZE, resize_##name, false},
#define A_GIVE(name, ...) {"mi_" #name, DRILL_GIVE, give_##name, false},
#define A_FAIL(name, ...) {"mi_" #name, DRILL_FAIL, fail_##name, false},
static const struct drill mimalloc_drills[] = {
        TAKES(A_TAKE) RESIZES(A_RESIZE) GIVES(A_GIVE) FAILS(A_FAIL)
        {"mi_expand", DRILL_IN_PLACE, in_place, true},
};
/* clang-format on */
DRILLS("mimalloc", mimalloc_drills)
