/* SPDX-License-Identifier: MIT */
/* Up to glibc 2.36 asprintf works in a block it gets itself, of 100 bytes: a result of more than half
 * of it is shrunk in place with realloc, a shorter one copied to a block of its own; a longer one
 * grows to twice the size and 100.
 *
 *   "%d" of 7         malloc(100), malloc(2), free of the 100
 *                     2 allocations, 102 bytes, 1 free
 *   a string of 60    malloc(100), realloc to 61
 *                     2 allocations, 161 bytes, 1 reallocation, the 100 temporary
 *   a string of 150   malloc(100), malloc(300), free of the 100; 151 is more than half of 300:
 *                     realloc to 151
 *                     3 allocations, 551 bytes, 1 reallocation, 2 frees, the 300 temporary
 * Kept: 2 + 61 + 151 = 214 in 3. Peak: 2 + 61 + 100 + 300 = 463 in 4 blocks.
 *
 * From 2.37 on it works on the stack, and makes the blocks that are kept alone. */
#include "truth.h"
#include <gnu/libc-version.h>
#include <stdio.h>

int main(void) {
        static char text[151];
        char *a, *b, *c;

        truth_say("is_old", strverscmp(gnu_get_libc_version(), "2.37") < 0);
        memset(text, 'x', 150);
        MUST(asprintf(&a, "%d", 7) == 1);
        MUST(asprintf(&b, "%.60s", text) == 60);
        MUST(asprintf(&c, "%s", text) == 150);
        return 0;
}
