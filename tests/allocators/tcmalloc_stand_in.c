/* SPDX-License-Identifier: MIT */
/* Not google's tcmalloc, which Debian does not have: functions with the names of its own, over malloc. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define TC(name) TCMallocInternal##name

void *TC(Malloc)(size_t n) {
        return malloc(n);
}

void *TC(Calloc)(size_t a, size_t b) {
        return calloc(a, b);
}

void *TC(Realloc)(void *p, size_t n) {
        return realloc(p, n);
}

void *TC(ReallocArray)(void *p, size_t a, size_t b) {
        size_t n;

        return __builtin_mul_overflow(a, b, &n) ? NULL : TC(Realloc)(p, n);
}

void TC(Free)(void *p) {
        free(p);
}

void TC(FreeSized)(void *p, size_t n) {
        (void)n;
        TC(Free)(p);
}

void TC(FreeAlignedSized)(void *p, size_t a, size_t n) {
        (void)a, (void)n;
        TC(Free)(p);
}

void TC(Cfree)(void *p) {
        TC(Free)(p);
}

void TC(Sdallocx)(void *p, size_t n, int flags) {
        (void)n, (void)flags;
        TC(Free)(p);
}

void *TC(Memalign)(size_t a, size_t n) {
        return memalign(a, n);
}

void *TC(AlignedAlloc)(size_t a, size_t n) {
        return TC(Memalign)(a, n);
}

int TC(PosixMemalign)(void **ret, size_t a, size_t n) {
        void *p = TC(Memalign)(a, n);

        if (!p)
                return ENOMEM;
        *ret = p;
        return 0;
}

void *TC(Valloc)(size_t n) {
        return TC(Memalign)(4096, n);
}

void *TC(Pvalloc)(size_t n) {
        return TC(Memalign)(4096, (n + 4095) & ~(size_t)4095);
}

void *TC(New)(size_t n) {
        return malloc(n);
}

void *TC(NewNothrow)(size_t n, const void *tag) {
        (void)tag;
        return TC(New)(n);
}

void *TC(NewAligned)(size_t n, size_t a) {
        return TC(Memalign)(a, n);
}

void *TC(NewAlignedNothrow)(size_t n, size_t a, const void *tag) {
        (void)tag;
        return TC(NewAligned)(n, a);
}

void *TC(NewArray)(size_t n) {
        return TC(New)(n);
}

void *TC(NewArrayNothrow)(size_t n, const void *tag) {
        return TC(NewNothrow)(n, tag);
}

void *TC(NewArrayAligned)(size_t n, size_t a) {
        return TC(NewAligned)(n, a);
}

void *TC(NewArrayAlignedNothrow)(size_t n, size_t a, const void *tag) {
        return TC(NewAlignedNothrow)(n, a, tag);
}

void TC(Delete)(void *p) {
        free(p);
}

void TC(DeleteSized)(void *p, size_t n) {
        (void)n;
        TC(Delete)(p);
}

void TC(DeleteAligned)(void *p, size_t a) {
        (void)a;
        TC(Delete)(p);
}

void TC(DeleteSizedAligned)(void *p, size_t n, size_t a) {
        (void)n;
        TC(DeleteAligned)(p, a);
}

void TC(DeleteNothrow)(void *p, const void *tag) {
        (void)tag;
        TC(Delete)(p);
}

void TC(DeleteArray)(void *p) {
        TC(Delete)(p);
}

void TC(DeleteArraySized)(void *p, size_t n) {
        TC(DeleteSized)(p, n);
}

void TC(DeleteArrayAligned)(void *p, size_t a) {
        TC(DeleteAligned)(p, a);
}

void TC(DeleteArraySizedAligned)(void *p, size_t n, size_t a) {
        TC(DeleteSizedAligned)(p, n, a);
}

void TC(DeleteArrayNothrow)(void *p, const void *tag) {
        TC(DeleteNothrow)(p, tag);
}
