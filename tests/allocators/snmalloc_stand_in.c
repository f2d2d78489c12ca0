/* SPDX-License-Identifier: MIT */
/* Not snmalloc, which Debian does not have: functions with the names its Rust crate gives them, over malloc. Blocks of 48
 * bytes come from a pool without locks: the handler of a signal may take them at any moment. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_N = 256, POOL_BYTES = 64, HANDLER_BYTES = 48 };

static char pool[POOL_N][POOL_BYTES] __attribute__((aligned(64)));
static atomic_flag pool_is_taken[POOL_N];

static void *pool_take(void) {
        for (unsigned i = 0; i < POOL_N; i++)
                if (!atomic_flag_test_and_set_explicit(&pool_is_taken[i], memory_order_acquire))
                        return pool[i];
        return NULL;
}

void *sn_rust_alloc(size_t align, size_t n) {
        void *p = n == HANDLER_BYTES ? pool_take() : NULL;

        return p ? p : memalign(align, n);
}

void *sn_rust_alloc_zeroed(size_t align, size_t n) {
        void *p = sn_rust_alloc(align, n);

        return p ? memset(p, 0, n) : NULL;
}

void sn_rust_dealloc(void *p, size_t align, size_t n) {
        uintptr_t at = (uintptr_t)p - (uintptr_t)pool;

        (void)align, (void)n;
        if (at < sizeof(pool))
                atomic_flag_clear_explicit(&pool_is_taken[at / POOL_BYTES], memory_order_release);
        else
                free(p);
}

void *sn_rust_realloc(void *p, size_t align, size_t old, size_t n) {
        void *to = sn_rust_alloc(align, n);

        if (!to)
                return NULL;
        memcpy(to, p, old < n ? old : n);
        sn_rust_dealloc(p, align, old);
        return to;
}
