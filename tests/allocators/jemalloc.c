/* SPDX-License-Identifier: MIT */
/* All of jemalloc's functions; PREFIX is that of its names, none when it is the program's malloc. */
#include <stdlib.h>

#include "drill.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#ifdef PREFIX
#define JE(name) PASTE(PREFIX, name)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
#define HEAP TEXT(PREFIX)
#else
#define JE(name) name
#define HEAP "malloc"
#endif

#define ALIGN(a) __builtin_ctzl(a)
#define ZERO 64
#define NO_CACHE (1 << 8)

void *JE(malloc)(size_t n);
void *JE(calloc)(size_t a, size_t b);
void *JE(realloc)(void *p, size_t n);
void *JE(memalign)(size_t a, size_t n);
void *JE(aligned_alloc)(size_t a, size_t n);
void *JE(valloc)(size_t n);
int JE(posix_memalign)(void **p, size_t a, size_t n);
void JE(free)(void *p);
void *JE(mallocx)(size_t n, int flags);
void *JE(rallocx)(void *p, size_t n, int flags);
size_t JE(xallocx)(void *p, size_t n, size_t extra, int flags);
size_t JE(sallocx)(const void *p, int flags);
void JE(dallocx)(void *p, int flags);
void JE(sdallocx)(void *p, size_t n, int flags);

static void *out(size_t a, size_t n) {
        void *p = NULL;

        return JE(posix_memalign)(&p, a, n) == 0 ? p : NULL;
}

TAKE(take_malloc, JE(malloc)(n), n, 0)
TAKE(take_calloc, JE(calloc)(n / 8, 8), n / 8 * 8, 0)
TAKE(take_realloc, JE(realloc)(NULL, n), n, 0)
TAKE(take_memalign, JE(memalign)(64, n), n, 64)
TAKE(take_aligned_alloc, JE(aligned_alloc)(128, n), n, 128)
TAKE(take_posix_memalign, out(256, n), n, 256)
TAKE(take_mallocx, JE(mallocx)(n, 0), n, 0)
TAKE(take_mallocx_aligned, JE(mallocx)(n, ALIGN(64) | ZERO), n, 64)
TAKE(take_mallocx_uncached, JE(mallocx)(n, NO_CACHE), n, 0)
RESIZE(resize_realloc, JE(realloc)(b->p, n), n, 0)
RESIZE(resize_rallocx, JE(rallocx)(b->p, n, 0), n, 0)
RESIZE(resize_rallocx_aligned, JE(rallocx)(b->p, n, ALIGN(128)), n, 128)
GIVE(give_free, JE(free)(b->p))
GIVE(give_dallocx, JE(dallocx)(b->p, 0))
GIVE(give_dallocx_uncached, JE(dallocx)(b->p, NO_CACHE))
GIVE(give_sdallocx, JE(sdallocx)(b->p, b->had ? b->had : b->n, b->align ? ALIGN(b->align) : 0))
FAIL(fail_malloc, JE(malloc)(n))
FAIL(fail_calloc, JE(calloc)(n, 64))
FAIL(fail_mallocx, JE(mallocx)(n, 0))
FAIL(fail_posix_memalign, out(64, n))
FAIL(fail_aligned_alloc, JE(aligned_alloc)(64, n))

/* Its pages may be larger than the kernel's. */
static void take_valloc(struct block *b, size_t n) {
        b->n = n;
        b->align = 4096;
        b->p = JE(valloc)(n);
        b->had = JE(sallocx)(b->p, 0);
}

/* What it has afterwards is not always what n bytes alone would have. */
static void in_place(struct block *b, size_t n) {
        size_t had = JE(xallocx)(b->p, n, 0, b->align ? ALIGN(b->align) : 0);

        if (had < n)
                return;
        b->n = n;
        b->had = had;
}

static const struct drill jemalloc_drills[] = {
        {"malloc", DRILL_TAKE, take_malloc, false},
        {"calloc", DRILL_TAKE, take_calloc, false},
        {"realloc", DRILL_TAKE, take_realloc, false},
        {"memalign", DRILL_TAKE, take_memalign, false},
        {"aligned_alloc", DRILL_TAKE, take_aligned_alloc, false},
        {"valloc", DRILL_TAKE, take_valloc, false},
        {"posix_memalign", DRILL_TAKE, take_posix_memalign, false},
        {"mallocx", DRILL_TAKE, take_mallocx, false},
        {"mallocx", DRILL_TAKE, take_mallocx_aligned, false},
        {"mallocx", DRILL_TAKE, take_mallocx_uncached, false},
        {"realloc", DRILL_RESIZE, resize_realloc, false},
        {"rallocx", DRILL_RESIZE, resize_rallocx, false},
        {"rallocx", DRILL_RESIZE, resize_rallocx_aligned, false},
        {"xallocx", DRILL_IN_PLACE, in_place, false},
        {"free", DRILL_GIVE, give_free, false},
        {"dallocx", DRILL_GIVE, give_dallocx, false},
        {"dallocx", DRILL_GIVE, give_dallocx_uncached, false},
        {"sdallocx", DRILL_GIVE, give_sdallocx, false},
        {"malloc", DRILL_FAIL, fail_malloc, false},
        {"calloc", DRILL_FAIL, fail_calloc, false},
        {"mallocx", DRILL_FAIL, fail_mallocx, false},
        {"posix_memalign", DRILL_FAIL, fail_posix_memalign, false},
        {"aligned_alloc", DRILL_FAIL, fail_aligned_alloc, false},
};
DRILLS(HEAP, jemalloc_drills)
