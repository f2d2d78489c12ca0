/* SPDX-License-Identifier: MIT */
/* For tables and pictures: so many call paths, 100,000 unless told, with a block at the end of each. Their digits say which of
 * ten functions calls which, so a flame graph has the paths and all their beginnings as boxes. */
#include <stdio.h>
#include <stdlib.h>

typedef void *step(unsigned path, unsigned size, int depth);
static step f0, f1, f2, f3, f4, f5, f6, f7, f8, f9;
static step *const steps[] = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9};

#define STEP(name)                                                                                 \
        static __attribute__((noinline)) void *name(unsigned path, unsigned size, int depth) {     \
                void *p =                                                                          \
                        depth == 0 ? malloc(size) : steps[path % 10](path / 10, size, depth - 1);  \
                __asm__ volatile("" : "+r"(p)); /* no tail call */                                 \
                return p;                                                                          \
        }
STEP(f0)
STEP(f1)
STEP(f2)
STEP(f3)
STEP(f4)
STEP(f5)
STEP(f6)
STEP(f7)
STEP(f8)
STEP(f9)

int main(int argc, char **argv) {
        unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 100000, kept = 0;
        int digits = 1;

        for (unsigned most = 10; most < n; most *= 10)
                digits++;
        for (unsigned i = 0; i < n; i++)
                kept += steps[i % 10](i / 10, 16 + i * 2654435761u % 5000, digits - 1) != NULL;
        return kept != n;
}
