/* SPDX-License-Identifier: MIT */
/* Allocations before main: in a library's constructor (300), in .preinit_array (the very first code
 * of the program: 100), in constructors with priority 101 and 65,000 (40 and 50); after main in the
 * destructors.
 *
 *   preinit 100, library 300, constructors 40 and 50 = 490 in 4; main frees the preinit's and
 *   allocates 7 destructor of the program: frees the 40; of the library: frees the 300 and
 *   allocates 3
 *   allocations 6   frees 3   bytes 500   temporary 0   peak 490 in 4   end 50 + 7 + 3 in 3 */
#include "truth.h"

extern void *from_library;
static void *first, *early, *late;

static void preinit(int argc, char **argv, char **envp) {
        (void)argc;
        (void)argv;
        (void)envp;
        first = malloc(100);
}
__attribute__((section(".preinit_array"),
               used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

__attribute__((constructor(101))) static void construct_early(void) {
        early = malloc(40);
}

__attribute__((constructor(65000))) static void construct_late(void) {
        late = malloc(50);
}

__attribute__((destructor)) static void destruct(void) {
        free(early);
}

int main(void) {
        MUST(first && early && late && from_library);
        free(first);
        MUST(malloc(7));
        return 0;
}
