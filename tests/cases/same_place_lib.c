/* SPDX-License-Identifier: MIT */
/* What same_place.c opens: INNER is a name that no other of them has. */
#include <stddef.h>
#include <stdlib.h>

void *take(size_t size);
void *INNER(size_t size);

__attribute__((noinline)) void *INNER(size_t size) {
        void *p = malloc(size);
        __asm__ volatile("" : "+r"(p));
        return p;
}

void *take(size_t size) {
        void *p = INNER(size);
        __asm__ volatile("" : "+r"(p));
        return p;
}
