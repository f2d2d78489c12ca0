/* SPDX-License-Identifier: MIT */
/* Blocks that come from where no one looked: __libc_malloc is libc's own entry, by which a block is
 * made that silt never saw; and __libc_free releases one behind its back.
 *
 *   5 blocks by __libc_malloc, freed by free: 5 unknown frees, no frees
 *   one more, given to realloc(.., 50): 1 unknown free and 1 allocation, no reallocation
 *   malloc(24), released by __libc_free; malloc(24) gives the same address again: the first release
 *     is made up: 1 implicit free; 2 allocations; the second block is freed: temporary
 *   allocations 3   frees 1   bytes 98   unknown 6   implicit 1   temporary 1
 *   peak: 50 + 24 in 2   end 50 in 1
 * The made-up release comes with the second allocation of the address, so the block was not
 * released by its thread before any other allocation: not temporary. */
#include "truth.h"

void *__libc_malloc(size_t size);
void __libc_free(void *block);

int main(void) {
        void *block[6];

        for (int i = 0; i < 6; i++)
                MUST(block[i] = __libc_malloc(100 + 16 * i));
        for (int i = 0; i < 5; i++)
                free(block[i]);
        MUST(realloc(block[5], 50));
        void *first = malloc(24);
        __libc_free(first);
        void *second = malloc(24);
        MUST(first == second);
        free(second);
        return 0;
}
