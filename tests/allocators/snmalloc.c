/* SPDX-License-Identifier: MIT */
/* snmalloc by the names its Rust crate gives it; here its stand-in has them. */
#include <stddef.h>

#include "drill.h"

void *sn_rust_alloc(size_t align, size_t n);
void *sn_rust_alloc_zeroed(size_t align, size_t n);
void sn_rust_dealloc(void *p, size_t align, size_t n);
void *sn_rust_realloc(void *p, size_t align, size_t old, size_t n);

TAKE(take_alloc, sn_rust_alloc(16, n), n, 16)
TAKE(take_alloc_zeroed, sn_rust_alloc_zeroed(16, n), n, 16)
RESIZE(resize_realloc, sn_rust_realloc(b->p, 16, b->n, n), n, 16)
GIVE(give_dealloc, sn_rust_dealloc(b->p, 16, b->n))
FAIL(fail_alloc, sn_rust_alloc(16, n))

static const struct drill snmalloc_drills[] = {
        {"sn_rust_alloc", DRILL_TAKE, take_alloc, false},
        {"sn_rust_alloc_zeroed", DRILL_TAKE, take_alloc_zeroed, false},
        {"sn_rust_realloc", DRILL_RESIZE, resize_realloc, false},
        {"sn_rust_dealloc", DRILL_GIVE, give_dealloc, false},
        {"sn_rust_alloc", DRILL_FAIL, fail_alloc, false},
};
DRILLS("snmalloc", snmalloc_drills)

__attribute__((constructor)) static void add_for_signals(void) {
        drill_add_for_signals("snmalloc", snmalloc_drills,
                              sizeof(snmalloc_drills) / sizeof(snmalloc_drills[0]));
}
