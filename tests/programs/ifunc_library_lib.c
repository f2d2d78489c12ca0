/* SPDX-License-Identifier: MIT */
/* A library whose IFUNC resolver allocates: see ifunc_library.c. */
#include <stdlib.h>

void *from_resolver;
static void *hidden;

static int answer(void) {
        from_resolver = hidden;
        return 42;
}

__attribute__((used)) static int (*resolve_answer(void))(void) {
        hidden = malloc(64);
        free(calloc(4, 8));
        return answer;
}
/* Hidden: its relocation then comes after those of the calls, and malloc can be called. */
int indirect(void) __attribute__((ifunc("resolve_answer"), visibility("hidden")));

int call_indirect(void) {
        return indirect();
}
