/* SPDX-License-Identifier: MIT */
/* turns: for every line "N" on stdin, N rounds with blocks of many sizes that live for a while and are written to; then how much CPU time they
 * took, in nanoseconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_BLOCKS = 512 };

static uint64_t cpu_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void) {
        static unsigned char *blocks[N_BLOCKS];
        unsigned seed = 1;
        long n;

        while (scanf("%ld", &n) == 1) {
                uint64_t begin_ns = cpu_ns();

                for (long i = 0; i < n; i++) {
                        unsigned at = (unsigned)rand_r(&seed) % N_BLOCKS;
                        size_t size_bytes = 16 + (unsigned)rand_r(&seed) % 600;

                        if (i % 3 == 0) {
                                blocks[at] = realloc(blocks[at], size_bytes);
                        } else {
                                free(blocks[at]);
                                blocks[at] = i % 2 ? malloc(size_bytes) : calloc(1, size_bytes);
                        }
                        memset(blocks[at], (int)i, size_bytes);
                }
                printf("%llu\n", (unsigned long long)(cpu_ns() - begin_ns));
                fflush(stdout);
        }
        return 0;
}
