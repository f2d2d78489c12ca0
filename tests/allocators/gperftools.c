/* SPDX-License-Identifier: MIT */
/* All of gperftools' functions under their own names; they share their heap with the program's malloc. */
#include <stddef.h>

#include "drill.h"

void *tc_malloc(size_t n);
void *tc_malloc_skip_new_handler(size_t n);
void *tc_calloc(size_t a, size_t b);
void *tc_realloc(void *p, size_t n);
void *tc_memalign(size_t a, size_t n);
void *tc_valloc(size_t n);
void *tc_pvalloc(size_t n);
int tc_posix_memalign(void **p, size_t a, size_t n);
void tc_free(void *p);
void tc_free_sized(void *p, size_t n);
void tc_cfree(void *p);
void *tc_new(size_t n);
void *tc_newarray(size_t n);
void *tc_new_aligned(size_t n, size_t a);
void *tc_newarray_aligned(size_t n, size_t a);
void *tc_new_nothrow(size_t n, const void *tag);
void *tc_newarray_nothrow(size_t n, const void *tag);
void *tc_new_aligned_nothrow(size_t n, size_t a, const void *tag);
void *tc_newarray_aligned_nothrow(size_t n, size_t a, const void *tag);
void tc_delete(void *p);
void tc_deletearray(void *p);
void tc_delete_sized(void *p, size_t n);
void tc_deletearray_sized(void *p, size_t n);
void tc_delete_nothrow(void *p, const void *tag);
void tc_deletearray_nothrow(void *p, const void *tag);
void tc_delete_aligned(void *p, size_t a);
void tc_deletearray_aligned(void *p, size_t a);
void tc_delete_sized_aligned(void *p, size_t n, size_t a);
void tc_deletearray_sized_aligned(void *p, size_t n, size_t a);
void tc_delete_aligned_nothrow(void *p, size_t a, const void *tag);
void tc_deletearray_aligned_nothrow(void *p, size_t a, const void *tag);

static void *out(size_t a, size_t n) {
        void *p = NULL;

        return tc_posix_memalign(&p, a, n) == 0 ? p : NULL;
}

/* Forms with an alignment for blocks that have one. */
#define GIVE_ALIKE(fn, plain, aligned) GIVE(fn, b->had ? tc_free(b->p) : b->align ? aligned : plain)

/* Whole pages: not what as many bytes with that alignment would be. */
#define TAKE_PAGES(fn, expr)                                                                       \
        static void fn(struct block *b, size_t n) {                                                \
                b->n = b->had = n;                                                                 \
                b->align = 4096;                                                                   \
                b->p = expr;                                                                       \
        }

TAKE_PAGES(take_valloc, tc_valloc(n))
TAKE_PAGES(take_pvalloc, tc_pvalloc(n))

TAKE(take_malloc, tc_malloc(n), n, 0)
TAKE(take_skip, tc_malloc_skip_new_handler(n), n, 0)
TAKE(take_calloc, tc_calloc(n / 8, 8), n / 8 * 8, 0)
TAKE(take_realloc, tc_realloc(NULL, n), n, 0)
TAKE(take_memalign, tc_memalign(64, n), n, 64)
TAKE(take_posix_memalign, out(256, n), n, 256)
TAKE(take_new, tc_new(n), n, 0)
TAKE(take_newarray, tc_newarray(n), n, 0)
TAKE(take_new_aligned, tc_new_aligned(n, 64), n, 64)
TAKE(take_newarray_aligned, tc_newarray_aligned(n, 64), n, 64)
TAKE(take_new_nothrow, tc_new_nothrow(n, ""), n, 0)
TAKE(take_newarray_nothrow, tc_newarray_nothrow(n, ""), n, 0)
TAKE(take_new_aligned_nothrow, tc_new_aligned_nothrow(n, 64, ""), n, 64)
TAKE(take_newarray_aligned_nothrow, tc_newarray_aligned_nothrow(n, 64, ""), n, 64)
RESIZE_LOOSELY(resize_realloc, tc_realloc(b->p, n), n)
GIVE(give_free, tc_free(b->p))
GIVE(give_cfree, tc_cfree(b->p))
GIVE_ALIKE(give_free_sized, tc_free_sized(b->p, b->n), tc_free(b->p))
GIVE_ALIKE(give_delete, tc_delete(b->p), tc_delete_aligned(b->p, b->align))
GIVE_ALIKE(give_deletearray, tc_deletearray(b->p), tc_deletearray_aligned(b->p, b->align))
GIVE_ALIKE(give_nothrow, tc_delete_nothrow(b->p, ""), tc_delete_aligned_nothrow(b->p, b->align, ""))
GIVE_ALIKE(give_array_nothrow, tc_deletearray_nothrow(b->p, ""),
           tc_deletearray_aligned_nothrow(b->p, b->align, ""))
GIVE_ALIKE(give_sized, tc_delete_sized(b->p, b->n), tc_delete_sized_aligned(b->p, b->n, b->align))
GIVE_ALIKE(give_array_sized, tc_deletearray_sized(b->p, b->n),
           tc_deletearray_sized_aligned(b->p, b->n, b->align))
FAIL(fail_malloc, tc_malloc(n))
FAIL(fail_calloc, tc_calloc(n, 64))
FAIL(fail_new_nothrow, tc_new_nothrow(n, ""))
FAIL(fail_posix_memalign, out(64, n))

static const struct drill gperftools_drills[] = {
        {"tc_malloc", DRILL_TAKE, take_malloc, false},
        {"tc_malloc_skip_new_handler", DRILL_TAKE, take_skip, false},
        {"tc_calloc", DRILL_TAKE, take_calloc, false},
        {"tc_realloc", DRILL_TAKE, take_realloc, false},
        {"tc_memalign", DRILL_TAKE, take_memalign, false},
        {"tc_posix_memalign", DRILL_TAKE, take_posix_memalign, false},
        {"tc_valloc", DRILL_TAKE, take_valloc, false},
        {"tc_pvalloc", DRILL_TAKE, take_pvalloc, false},
        {"tc_new", DRILL_TAKE, take_new, false},
        {"tc_newarray", DRILL_TAKE, take_newarray, false},
        {"tc_new_aligned", DRILL_TAKE, take_new_aligned, false},
        {"tc_newarray_aligned", DRILL_TAKE, take_newarray_aligned, false},
        {"tc_new_nothrow", DRILL_TAKE, take_new_nothrow, false},
        {"tc_newarray_nothrow", DRILL_TAKE, take_newarray_nothrow, false},
        {"tc_new_aligned_nothrow", DRILL_TAKE, take_new_aligned_nothrow, false},
        {"tc_newarray_aligned_nothrow", DRILL_TAKE, take_newarray_aligned_nothrow, false},
        {"tc_realloc", DRILL_RESIZE, resize_realloc, false},
        {"tc_free", DRILL_GIVE, give_free, false},
        {"tc_cfree", DRILL_GIVE, give_cfree, false},
        {"tc_free_sized", DRILL_GIVE, give_free_sized, false},
        {"tc_delete", DRILL_GIVE, give_delete, false},
        {"tc_deletearray", DRILL_GIVE, give_deletearray, false},
        {"tc_delete_nothrow", DRILL_GIVE, give_nothrow, false},
        {"tc_deletearray_nothrow", DRILL_GIVE, give_array_nothrow, false},
        {"tc_delete_sized", DRILL_GIVE, give_sized, false},
        {"tc_deletearray_sized", DRILL_GIVE, give_array_sized, false},
        {"tc_malloc", DRILL_FAIL, fail_malloc, false},
        {"tc_calloc", DRILL_FAIL, fail_calloc, false},
        {"tc_new_nothrow", DRILL_FAIL, fail_new_nothrow, false},
        {"tc_posix_memalign", DRILL_FAIL, fail_posix_memalign, false},
};
DRILLS("malloc", gperftools_drills)
