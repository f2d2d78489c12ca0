/* SPDX-License-Identifier: MIT */
/* Beside odd_names.c, with debug information: a source file whose name is markup. */
#include <stdlib.h>
#line 7 "<img src=x onerror=window.ran=4>/odd&quot;.c"

void *from_odd_file(size_t n);

__attribute__((noinline)) void *from_odd_file(size_t n) {
        void *p = malloc(n);

        __asm__ volatile("" : "+r"(p));
        return p;
}
