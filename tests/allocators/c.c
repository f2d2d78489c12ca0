/* SPDX-License-Identifier: MIT */
/* What C has. */
#include <malloc.h>
#include <stdlib.h>

#include "drill.h"

static void *out(size_t a, size_t n) {
        void *p = NULL;

        return posix_memalign(&p, a, n) == 0 ? p : NULL;
}

TAKE(take_malloc, malloc(n), n, 0)
TAKE(take_calloc, calloc(n / 8, 8), n / 8 * 8, 0)
TAKE(take_realloc, realloc(NULL, n), n, 0)
TAKE(take_memalign, memalign(64, n), n, 64)
TAKE(take_aligned_alloc, aligned_alloc(128, n), n, 128)
TAKE(take_posix_memalign, out(256, n), n, 256)
RESIZE_LOOSELY(resize_realloc, realloc(b->p, n), n)
RESIZE_LOOSELY(resize_reallocarray, reallocarray(b->p, n / 8, 8), n / 8 * 8)
GIVE(give_free, free(b->p))
FAIL(fail_malloc, malloc(n))
FAIL(fail_calloc, calloc(n, 64))
FAIL(fail_posix_memalign, out(64, n))

static const struct drill c_drills[] = {
        {"malloc", DRILL_TAKE, take_malloc, false},
        {"calloc", DRILL_TAKE, take_calloc, false},
        {"realloc", DRILL_TAKE, take_realloc, false},
        {"memalign", DRILL_TAKE, take_memalign, false},
        {"aligned_alloc", DRILL_TAKE, take_aligned_alloc, false},
        {"posix_memalign", DRILL_TAKE, take_posix_memalign, false},
        {"realloc", DRILL_RESIZE, resize_realloc, false},
        {"reallocarray", DRILL_RESIZE, resize_reallocarray, false},
        {"free", DRILL_GIVE, give_free, false},
        {"malloc", DRILL_FAIL, fail_malloc, false},
        {"calloc", DRILL_FAIL, fail_calloc, false},
        {"posix_memalign", DRILL_FAIL, fail_posix_memalign, false},
};
DRILLS("malloc", c_drills)
