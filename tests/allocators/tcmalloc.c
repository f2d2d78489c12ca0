/* SPDX-License-Identifier: MIT */
/* Google's tcmalloc by its own names; here its stand-in has them. */
#include <stddef.h>

#include "drill.h"

#define TC(name) TCMallocInternal##name

void *TC(Malloc)(size_t n);
void *TC(Calloc)(size_t a, size_t b);
void *TC(Realloc)(void *p, size_t n);
void *TC(ReallocArray)(void *p, size_t a, size_t b);
void TC(Free)(void *p);
void TC(FreeSized)(void *p, size_t n);
void TC(FreeAlignedSized)(void *p, size_t a, size_t n);
void TC(Cfree)(void *p);
void TC(Sdallocx)(void *p, size_t n, int flags);
void *TC(Memalign)(size_t a, size_t n);
void *TC(AlignedAlloc)(size_t a, size_t n);
int TC(PosixMemalign)(void **ret, size_t a, size_t n);
void *TC(Valloc)(size_t n);
void *TC(Pvalloc)(size_t n);
void *TC(New)(size_t n);
void *TC(NewNothrow)(size_t n, const void *tag);
void *TC(NewAligned)(size_t n, size_t a);
void *TC(NewAlignedNothrow)(size_t n, size_t a, const void *tag);
void *TC(NewArray)(size_t n);
void *TC(NewArrayNothrow)(size_t n, const void *tag);
void *TC(NewArrayAligned)(size_t n, size_t a);
void *TC(NewArrayAlignedNothrow)(size_t n, size_t a, const void *tag);
void TC(Delete)(void *p);
void TC(DeleteSized)(void *p, size_t n);
void TC(DeleteAligned)(void *p, size_t a);
void TC(DeleteSizedAligned)(void *p, size_t n, size_t a);
void TC(DeleteNothrow)(void *p, const void *tag);
void TC(DeleteArray)(void *p);
void TC(DeleteArraySized)(void *p, size_t n);
void TC(DeleteArrayAligned)(void *p, size_t a);
void TC(DeleteArraySizedAligned)(void *p, size_t n, size_t a);
void TC(DeleteArrayNothrow)(void *p, const void *tag);

static void *out(size_t a, size_t n) {
        void *p = NULL;

        return TC(PosixMemalign)(&p, a, n) == 0 ? p : NULL;
}

/* clang-format off */
#define TAKES(X) \
        X(Malloc, TC(Malloc)(n), n, 0) \
        X(Calloc, TC(Calloc)(n / 8, 8), n / 8 * 8, 0) \
        X(Realloc, TC(Realloc)(NULL, n), n, 0) \
        X(Memalign, TC(Memalign)(64, n), n, 64) \
        X(AlignedAlloc, TC(AlignedAlloc)(64, n), n, 64) \
        X(PosixMemalign, out(64, n), n, 64) \
        X(Valloc, TC(Valloc)(n), n, 4096) \
        X(Pvalloc, TC(Pvalloc)(n), n, 4096) \
        X(New, TC(New)(n), n, 0) \
        X(NewNothrow, TC(NewNothrow)(n, ""), n, 0) \
        X(NewAligned, TC(NewAligned)(n, 64), n, 64) \
        X(NewAlignedNothrow, TC(NewAlignedNothrow)(n, 64, ""), n, 64) \
        X(NewArray, TC(NewArray)(n), n, 0) \
        X(NewArrayNothrow, TC(NewArrayNothrow)(n, ""), n, 0) \
        X(NewArrayAligned, TC(NewArrayAligned)(n, 64), n, 64) \
        X(NewArrayAlignedNothrow, TC(NewArrayAlignedNothrow)(n, 64, ""), n, 64)
#define RESIZES(X) \
        X(Realloc, TC(Realloc)(b->p, n), n, 0) \
        X(ReallocArray, TC(ReallocArray)(b->p, n / 8, 8), n / 8 * 8, 0)
#define GIVES(X) \
        X(Free, TC(Free)(b->p)) \
        X(FreeSized, TC(FreeSized)(b->p, b->n)) \
        X(FreeAlignedSized, TC(FreeAlignedSized)(b->p, 64, b->n)) \
        X(Cfree, TC(Cfree)(b->p)) \
        X(Sdallocx, TC(Sdallocx)(b->p, b->n, 0)) \
        X(Delete, TC(Delete)(b->p)) \
        X(DeleteSized, TC(DeleteSized)(b->p, b->n)) \
        X(DeleteAligned, TC(DeleteAligned)(b->p, 64)) \
        X(DeleteSizedAligned, TC(DeleteSizedAligned)(b->p, b->n, 64)) \
        X(DeleteNothrow, TC(DeleteNothrow)(b->p, "")) \
        X(DeleteArray, TC(DeleteArray)(b->p)) \
        X(DeleteArraySized, TC(DeleteArraySized)(b->p, b->n)) \
        X(DeleteArrayAligned, TC(DeleteArrayAligned)(b->p, 64)) \
        X(DeleteArraySizedAligned, TC(DeleteArraySizedAligned)(b->p, b->n, 64)) \
        X(DeleteArrayNothrow, TC(DeleteArrayNothrow)(b->p, ""))
#define FAILS(X) \
        X(Malloc, TC(Malloc)(n)) \
        X(Calloc, TC(Calloc)(n, 64)) \
        X(NewAlignedNothrow, TC(NewAlignedNothrow)(n, 64, "")) \
        X(PosixMemalign, out(64, n))

#define DO_TAKE(name, expr, counted, alignment) TAKE(take_##name, expr, counted, alignment)
#define DO_RESIZE(name, expr, counted, alignment) RESIZE(resize_##name, expr, counted, alignment)
#define DO_GIVE(name, call) GIVE(give_##name, call)
#define DO_FAIL(name, expr) FAIL(fail_##name, expr)
TAKES(DO_TAKE)
RESIZES(DO_RESIZE)
GIVES(DO_GIVE)
FAILS(DO_FAIL)

#define A_TAKE(name, ...) {#name, DRILL_TAKE, take_##name, false},
#define A_RESIZE(name, ...) {#name, DRILL_RESIZE, resize_##name, false},
#define A_GIVE(name, ...) {#name, DRILL_GIVE, give_##name, false},
#define A_FAIL(name, ...) {#name, DRILL_FAIL, fail_##name, false},
static const struct drill tcmalloc_drills[] = {TAKES(A_TAKE) RESIZES(A_RESIZE) GIVES(A_GIVE) FAILS(A_FAIL)};
/* clang-format on */
DRILLS("tcmalloc", tcmalloc_drills)
