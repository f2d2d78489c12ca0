/* SPDX-License-Identifier: MIT */
/* An IFUNC resolver of the program allocates: it runs while the program is being relocated, when
 * every library is, and before any constructor.
 *
 *   resolver: malloc(64), malloc(32), free of the 32 (temporary)
 *   main: realloc of the 64 to 128 (not temporary: the 32 came after), free (temporary), malloc(5)
 *   allocations 4   frees 3   reallocations 1   bytes 229   temporary 2   peak 128 in 1   end 5 in
 *   1 */
#include "truth.h"

static void *from_resolver;

static int answer(void) {
        return 42;
}

__attribute__((used)) static int (*resolve_answer(void))(void) {
        from_resolver = malloc(64);
        free(malloc(32));
        return answer;
}
int indirect(void) __attribute__((ifunc("resolve_answer")));

int main(void) {
        MUST(indirect() == 42 && from_resolver);
        from_resolver = realloc(from_resolver, 128);
        free(from_resolver);
        MUST(malloc(5));
        return 0;
}
