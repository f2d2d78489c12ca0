/* SPDX-License-Identifier: MIT */
/* For pictures: a tree of calls with more than ten thousand different paths, some memory at the end of each. */
#include <stdio.h>
#include <stdlib.h>

typedef void *step(unsigned path, int depth);
static step s0, s1, s2, s3, s4, s5, s6, s7, s8, s9;
static step *const steps[] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9};

/* The digits of path say which function calls which. */
#define STEP(name)                                                                                 \
        static __attribute__((noinline)) void *name(unsigned path, int depth) {                    \
                void *p = depth == 0 ? malloc(16 + path % 1000)                                    \
                                     : steps[path % 10](path / 10 + path % 7 * 100, depth - 1);    \
                __asm__ volatile("" : "+r"(p)); /* no tail call */                                 \
                return p;                                                                          \
        }
STEP(s0)
STEP(s1)
STEP(s2)
STEP(s3)
STEP(s4)
STEP(s5)
STEP(s6)
STEP(s7)
STEP(s8)
STEP(s9)

int main(int argc, char **argv) {
        unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 10000, kept = 0;

        for (unsigned i = 0; i < n; i++)
                kept += steps[i / 3 % 10](i, 4) != NULL;
        return kept != n;
}
