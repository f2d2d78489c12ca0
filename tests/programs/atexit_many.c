/* SPDX-License-Identifier: MIT */
/* 100 atexit functions. libc keeps 32 in itself; beyond, it gets lists of 32 with calloc(1, 1,040):
 * functions 33..64, 65..96 and 97..100 need three, and exit frees each when its functions have run,
 * last list first. (C start-up registers no function through this list in a program without a
 * preloaded destructor of C++; the loader's own one, _dl_fini, is one entry: 101 entries in all,
 * the same three lists.)
 *
 * Each function allocates 9 bytes, frees what the one before allocated: 100 allocations of 9, 99
 * frees, never temporary (the new one comes first).
 *   allocations 103   frees 102   bytes 900 + 3 * 1,040   end 9 in 1
 * Temporary: the lists are freed when other blocks have been allocated since: 0.
 * Peak: three lists and two small blocks, as long as the last list has not been freed: functions
 * run 100, 99, ..; the second function frees after allocating: 3,120 + 18 in 5. */
#include "truth.h"

static void *last;

static void at_exit(void) {
        void *older = last;

        last = malloc(9);
        free(older);
}

int main(void) {
        for (int i = 0; i < 100; i++)
                MUST(atexit(at_exit) == 0);
        return 0;
}
