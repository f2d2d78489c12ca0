/* SPDX-License-Identifier: MIT */
/* Preloaded: counts the calls of the C library's allocating functions and prints them at the end:
 *   calls: malloc free calloc realloc malloc_usable_size          free without those of NULL */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic unsigned long n_mallocs, n_frees, n_callocs, n_reallocs, n_sizes;

/* dlsym may allocate while it looks for the first one. */
static _Alignas(16) uint8_t early[1 << 14];
static size_t n_early_bytes;

static void *early_alloc(size_t size_bytes) {
        void *p = early + n_early_bytes;

        n_early_bytes += (size_bytes + 15) & ~(size_t)15;
        return n_early_bytes <= sizeof(early) ? p : NULL;
}

static void *find(const char *name) {
        static __thread int is_finding;
        void *fn;

        if (is_finding)
                return NULL;
        is_finding = 1;
        fn = dlsym(RTLD_NEXT, name);
        is_finding = 0;
        return fn;
}

#define REAL(name)                                                                                 \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
        real = (__typeof__(&name))find(#name)

void *malloc(size_t size_bytes) {
        REAL(malloc);
        n_mallocs++;
        return real ? real(size_bytes) : early_alloc(size_bytes);
}

void *calloc(size_t n_items, size_t item_bytes) {
        REAL(calloc);
        n_callocs++;
        return real ? real(n_items, item_bytes) : early_alloc(n_items * item_bytes);
}

void *realloc(void *p, size_t size_bytes) {
        REAL(realloc);
        n_reallocs++;
        return real(p, size_bytes);
}

void free(void *p) {
        REAL(free);
        n_frees += p != NULL;
        if (real && ((uint8_t *)p < early || (uint8_t *)p >= early + sizeof(early)))
                real(p);
}

size_t malloc_usable_size(void *p) {
        REAL(malloc_usable_size);
        n_sizes++;
        return real(p);
}

__attribute__((destructor)) static void print(void) {
        fprintf(stderr, "calls: %lu %lu %lu %lu %lu\n", n_mallocs, n_frees, n_callocs, n_reallocs,
                n_sizes);
}
