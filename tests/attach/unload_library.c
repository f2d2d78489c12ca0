/* SPDX-License-Identifier: MIT */
/* A library that allocates, three calls deep. Compiled with another PREFIX and FRAME_BYTES its calls are at the same addresses of its
 * file, on a stack of another shape: who takes one for the other goes astray. */
#include <stdlib.h>
#include <string.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define NAME(name) PASTE(PREFIX, name)
#define APART __attribute__((noinline, noclone))

enum {
        BLOCK_BYTES = 64 << 20
}; /* a mapping each: what is not chosen of samples far apart is little else */

void *unload_work(void);
APART void *NAME(inner)(const char *text);
APART void *NAME(middle)(int c);

void *NAME(inner)(const char *text) {
        char *p = malloc(BLOCK_BYTES);

        if (p)
                p[0] = text[0];
        return p;
}

void *NAME(middle)(int c) {
        char text[FRAME_BYTES];
        void *p;

        __asm__ volatile("" ::"r"(text) : "memory");
        text[0] = (char)c;
        p = NAME(inner)(text);
        __asm__ volatile("" ::"r"(text) : "memory");
        return p;
}

void *unload_work(void) {
        void *volatile p = NAME(middle)('x');

        return p;
}
