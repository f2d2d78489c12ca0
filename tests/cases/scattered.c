/* SPDX-License-Identifier: MIT */
/* Blocks of all sizes, two of three freed: the live ones lie among free ones of their size. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40000 };
static char *blocks[N];

int main(void) {
        for (int i = 0; i < N; i++) {
                size_t bytes = (size_t)(i % 50 ? i % 700 + 8 : 30000);

                blocks[i] = malloc(bytes);
                memset(blocks[i], 1, bytes);
        }
        for (int i = 0; i < N; i++)
                if (i % 3)
                        free(blocks[i]);
        usleep(3000000);
        return blocks[0] == NULL;
}
