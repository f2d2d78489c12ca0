/* SPDX-License-Identifier: MIT */
/* The least any interposer costs: forwards malloc and free. */
#include <dlfcn.h>
#include <stddef.h>

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);

__attribute__((constructor)) static void find(void) {
        real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t size_bytes) {
        if (__builtin_expect(!real_malloc, 0))
                find();
        return real_malloc(size_bytes);
}

void free(void *p) {
        if (__builtin_expect(!real_free, 0))
                find();
        real_free(p);
}
