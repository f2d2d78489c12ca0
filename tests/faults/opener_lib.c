/* SPDX-License-Identifier: MIT */
/* What opener.c opens. */
#include <stdlib.h>

void lib_take(void **ret_blocks);
void lib_drop(void **blocks);

void lib_take(void **ret_blocks) {
        for (int i = 0; i < 3; i++)
                ret_blocks[i] = malloc(20);
}

void lib_drop(void **blocks) {
        for (int i = 0; i < 3; i++)
                free(blocks[i]);
}
