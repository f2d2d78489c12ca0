/* SPDX-License-Identifier: MIT */
/* The library in C that deepbind opens; see there for what each function allocates. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern int is_baseline;
static void *kept[3];

static void must(int is_true) {
        if (!is_true)
                abort();
}

__attribute__((constructor)) static void load(void) {
        for (int i = 0; i < 3 && !is_baseline; i++)
                kept[i] = malloc(10);
}

__attribute__((destructor)) static void unload(void) {
        for (int i = 0; i < 3; i++)
                free(kept[i]);
}

void work(void) {
        char text[] = "deepbind";
        void *block = malloc(10);

        block = realloc(block, 20), must(block != NULL), free(block);
        block = calloc(3, 7), must(block != NULL), free(block);
        must(posix_memalign(&block, 64, 100) == 0), free(block);
        block = aligned_alloc(64, 128), must(block != NULL), free(block);
        block = memalign(32, 50), must(block != NULL), free(block);
        block = strdup(text), must(block != NULL), free(block);
        block = reallocarray(NULL, 2, 8), must(block != NULL), free(block);
}

void *give_block(void) {
        return malloc(7);
}

void nest(const char *path) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        void (*inner)(void) = (void (*)(void))dlsym(library, "work");
        void *(*give)(void) = (void *(*)(void))dlsym(library, "give_block");

        must(inner && give);
        if (!is_baseline) {
                inner();
                must(give() != NULL);
        }
        must(dlclose(library) == 0);
}
