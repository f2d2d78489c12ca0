/* SPDX-License-Identifier: MIT */
/* Not mimalloc: functions with its names, and inner code under names as it has them, over malloc. For programs of which the linker
 * drops what they do not call. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *_mi_malloc_generic(size_t align, size_t n);
void _mi_page_free(void *p);
void *mi_malloc(size_t n);
void *mi_zalloc(size_t n);
void *mi_calloc(size_t n_items, size_t n);
void *mi_malloc_aligned(size_t n, size_t align);
void *mi_realloc(void *p, size_t n);
void *mi_realloc_aligned(void *p, size_t n, size_t align);
void mi_free(void *p);
void mi_free_size(void *p, size_t n);

__attribute__((noinline)) void *_mi_malloc_generic(size_t align, size_t n) {
        return memalign(align, n);
}

__attribute__((noinline)) void _mi_page_free(void *p) {
        free(p);
}

static void *zeroed(void *p, size_t n) {
        return p ? memset(p, 0, n) : NULL;
}

static void *resized(void *p, size_t n, size_t align) {
        void *to = _mi_malloc_generic(align, n);
        size_t had = p ? malloc_usable_size(p) : 0;

        if (to && p) {
                memcpy(to, p, had < n ? had : n);
                _mi_page_free(p);
        }
        return to;
}

void *mi_malloc(size_t n) {
        return _mi_malloc_generic(16, n);
}

void *mi_zalloc(size_t n) {
        return zeroed(_mi_malloc_generic(16, n), n);
}

void *mi_calloc(size_t n_items, size_t n) {
        return zeroed(_mi_malloc_generic(16, n_items * n), n_items * n);
}

void *mi_malloc_aligned(size_t n, size_t align) {
        return _mi_malloc_generic(align, n);
}

void *mi_realloc(void *p, size_t n) {
        return resized(p, n, 16);
}

void *mi_realloc_aligned(void *p, size_t n, size_t align) {
        return resized(p, n, align);
}

void mi_free(void *p) {
        _mi_page_free(p);
}

void mi_free_size(void *p, size_t n) {
        (void)n;
        _mi_page_free(p);
}
