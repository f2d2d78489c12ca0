/* SPDX-License-Identifier: MIT */
/* The library dlopen_loop opens and closes: allocates when loaded, frees when unloaded.
 * `marks_only` is the program's: in its baseline only the large block is made. */
#include <stdlib.h>

extern int marks_only;
static void *large, *small[10];

__attribute__((constructor)) static void load(void) {
        large = malloc(1 << 20);
        for (int i = 0; i < 10 && !marks_only; i++)
                small[i] = malloc(100);
}

__attribute__((destructor)) static void unload(void) {
        for (int i = 0; i < 10; i++)
                free(small[i]);
        free(large);
}

void *give_block(void) {
        return malloc(7);
}
