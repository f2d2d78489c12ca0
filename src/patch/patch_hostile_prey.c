/* SPDX-License-Identifier: MIT */
/* A library with functions that are called like jemalloc's and mimalloc's, for patch_hostile_test.c to damage. */
#include <stddef.h>

#define PREY(name) __attribute__((noinline)) void *name(size_t n, void *p)

PREY(prey_malloc);
PREY(prey_mallocx);
PREY(prey_rallocx);
PREY(prey_xallocx);
PREY(prey_dallocx);
PREY(prey_mallctl);
PREY(mi_heap_malloc);
PREY(mi_malloc);
PREY(mi_free);
int mi_version(void);

static size_t n_calls[8];

PREY(prey_malloc) {
        return (char *)p + (n_calls[0] += n);
}

PREY(prey_mallocx) {
        return n_calls[1] ? prey_malloc(n, p) : NULL;
}

PREY(prey_rallocx) {
        return (char *)p - (n_calls[2] += n);
}

PREY(prey_xallocx) {
        return (char *)p - (n_calls[3] -= n);
}

PREY(prey_dallocx) {
        return (char *)p - (n_calls[4] ^= n);
}

PREY(prey_mallctl) {
        return (char *)p - (n_calls[5] |= n);
}

PREY(mi_heap_malloc) {
        return (char *)p - (n_calls[6] *= n);
}

PREY(mi_malloc) {
        return mi_heap_malloc(n + 1, p);
}

PREY(mi_free) {
        return (char *)p - (n_calls[7] += n);
}

int mi_version(void) {
        return 209;
}
