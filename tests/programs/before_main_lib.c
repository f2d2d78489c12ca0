/* SPDX-License-Identifier: MIT */
/* A library whose constructor and destructor allocate: see before_main.c. */
#include <stdlib.h>

void *from_library;

__attribute__((constructor)) static void load(void) {
        from_library = malloc(300);
}

__attribute__((destructor)) static void unload(void) {
        free(from_library);
        from_library = malloc(3);
}
