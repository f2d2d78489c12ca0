/* SPDX-License-Identifier: MIT */
/* A call of malloc inside an inlined function, at places the tests know. Lines are found by their
 * marks. */
#include <stdlib.h>
#include <unistd.h>

void *shapes_outer(size_t n);
void *shapes_other(size_t n);

struct item {
        size_t n;
        void *block;
};

static inline __attribute__((always_inline)) void *shapes_inner(struct item *item, size_t n) {
        item->n = n;
        item->block = malloc(n + 3); /* INNER */
        __asm__ volatile("" ::"r"(item->block) : "memory");
        return item->block;
}

__attribute__((noinline)) void *shapes_outer(size_t n) {
        struct item item;

        return shapes_inner(&item, n * 2); /* OUTER */
}

static __attribute__((noinline)) void *shapes_hidden(size_t n) {
        void *p = malloc(n); /* HIDDEN */

        __asm__ volatile("" ::"r"(p) : "memory");
        return p;
}

__attribute__((noinline)) void *shapes_other(size_t n) {
        void *p = shapes_hidden(n + 1);

        __asm__ volatile("" ::"r"(p) : "memory");
        return p;
}

#ifndef SHAPES_LIBRARY
int main(int argc, char **argv) {
        (void)argv;
        free(shapes_outer((size_t)argc * 100));
        free(shapes_other((size_t)argc * 100));
        if (argc > 1) /* and stays, so that it can be looked at */
                sleep(1);
        return 0;
}
#endif
