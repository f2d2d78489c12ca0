/* SPDX-License-Identifier: MIT */
/* An IFUNC resolver of a library the program needs allocates: libraries are relocated last to
 * first, so a preloaded library is not yet relocated when this one is. Its malloc must work all the
 * same.
 *
 * The symbol is used once, by call_indirect inside the library, so the resolver runs once.
 *   resolver: malloc(64), calloc(4, 8), free of it (temporary)
 *   main: realloc of the 64 to 128 (not temporary), free (temporary), malloc(5)
 *   allocations 4   frees 3   reallocations 1   bytes 229   temporary 2   peak 128 in 1   end 5 in
 *   1 */
#include "truth.h"

extern void *from_resolver;
int call_indirect(void);

int main(void) {
        MUST(call_indirect() == 42 && from_resolver);
        from_resolver = realloc(from_resolver, 128);
        free(from_resolver);
        MUST(malloc(5));
        return 0;
}
