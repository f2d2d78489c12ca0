/* SPDX-License-Identifier: MIT */
/* How much memory was asked for at most: for the tests and fuzzers that hold readers of hostile files to what the file
 * justifies. Include it in the one file of such a program; not for products.
 *
 *     heap_peak_begin();  ...  peak = heap_peak_bytes(); */
#pragma once

#include <stddef.h>
#include <stdint.h>

static size_t heap_now_bytes, heap_most_bytes;

static inline void heap_count_alloc(size_t n) {
        heap_now_bytes += n;
        if (heap_now_bytes > heap_most_bytes)
                heap_most_bytes = heap_now_bytes;
}

/* What was allocated before heap_peak_begin may be released after it. */
static inline void heap_count_free(size_t n) {
        heap_now_bytes -= n < heap_now_bytes ? n : heap_now_bytes;
}

static inline size_t heap_peak_bytes(void) {
        return heap_most_bytes;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAP_IS_SANITIZED 1
#endif
#endif

#ifdef HEAP_IS_SANITIZED
/* gcc has no <sanitizer/allocator_interface.h>. */
extern int __sanitizer_install_malloc_and_free_hooks(/* NOLINT(bugprone-reserved-identifier) */
                                                     void (*on_alloc)(const volatile void *,
                                                                      size_t),
                                                     void (*on_free)(const volatile void *));
extern size_t __sanitizer_get_allocated_size(
        const volatile void *p); /* NOLINT(bugprone-reserved-identifier) */

static void heap_on_alloc(const volatile void *p, size_t n) {
        heap_count_alloc(n);
}

static void heap_on_free(const volatile void *p) {
        if (p)
                heap_count_free(__sanitizer_get_allocated_size(p));
}

static inline void heap_peak_begin(void) {
        static int installed;

        if (!installed)
                installed = __sanitizer_install_malloc_and_free_hooks(heap_on_alloc, heap_on_free);
        heap_now_bytes = heap_most_bytes = 0;
}
#else
#include <malloc.h>

/* glibc's own names for what is replaced here. */
extern void *__libc_malloc(size_t n);           /* NOLINT(bugprone-reserved-identifier) */
extern void *__libc_calloc(size_t n, size_t m); /* NOLINT(bugprone-reserved-identifier) */
extern void *__libc_realloc(void *p, size_t n); /* NOLINT(bugprone-reserved-identifier) */
extern void __libc_free(void *p);               /* NOLINT(bugprone-reserved-identifier) */

static void *heap_counted(void *p) {
        if (p)
                heap_count_alloc(malloc_usable_size(p));
        return p;
}

void *malloc(size_t n) {
        return heap_counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t m) {
        return heap_counted(__libc_calloc(n, m));
}

/* Old and new block exist at the same time while one is copied to the other. */
void *realloc(void *p, size_t n) {
        size_t old = p ? malloc_usable_size(p) : 0;
        void *moved = __libc_realloc(p, n);

        if (moved) {
                heap_count_alloc(malloc_usable_size(moved));
                heap_count_free(old);
        }
        return moved;
}

void free(void *p) {
        if (p)
                heap_count_free(malloc_usable_size(p));
        __libc_free(p);
}

static inline void heap_peak_begin(void) {
        heap_now_bytes = heap_most_bytes = 0;
}
#endif
