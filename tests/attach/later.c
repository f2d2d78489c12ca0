/* SPDX-License-Identifier: MIT */
/* A library that is opened while silt records: two blocks for each call. */
#include <stdlib.h>

void work(void);

void work(void) {
        void *volatile one = malloc(10);
        void *volatile other = realloc(NULL, 20);

        free(one);
        free(other);
}
