/* SPDX-License-Identifier: MIT */
/* A program that allows itself only the system calls malloc needs, and is killed at any other one.
 *
 * Before the filter: malloc(5), kept, because glibc's first malloc asks the kernel for random
 * bytes. After the filter: 150,000 times malloc(60) and free (temporary), 100 blocks of 200 KiB
 * freed in order (mapped ones; the last is temporary), a chain of realloc to 1 MiB in steps of 64
 * KiB (16 allocations, 15 reallocations, 16 temporary with the final free).
 *   allocations 1 + 150,000 + 100 + 16   frees 150,116   reallocations 15
 *   bytes 5 + 9,000,000 + 100 * 204,800 + 65,536 * 136 = 38,392,901   temporary 150,017
 *   peak 5 + 100 * 204,800 = 20,480,005 in 101   end 5 in 1 */
#include "filter.h"

int main(void) {
        struct sock_filter calls[] = {FILTER_BEGIN, FILTER_MALLOCS_CALLS, FILTER_END};
        static void *block[100];
        char *p = NULL;

        MUST(malloc(5));
        filter_apply(calls, sizeof(calls));
        for (int i = 0; i < 150000; i++)
                free(malloc(60));
        for (int i = 0; i < 100; i++)
                MUST(block[i] = malloc(200 << 10));
        for (int i = 0; i < 100; i++)
                free(block[i]);
        for (int i = 1; i <= 16; i++)
                MUST(p = realloc(p, (size_t)i << 16));
        free(p);
        _exit(0);
}
