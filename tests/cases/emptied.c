/* SPDX-License-Identifier: MIT */
/* emptied MS: holds 60 MB in small blocks, frees all of them to an allocator that keeps its pages, and ends MS milliseconds later. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 60000, BYTES = 1000 };

int main(int argc, char **argv) {
        static void *blocks[N];

        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        for (int i = 0; i < N; i++)
                blocks[i] = memset(malloc(BYTES), 1, BYTES);
        for (int i = 0; i < N; i++)
                free(blocks[i]);
        usleep(1000 * (useconds_t)atoi(argv[argc - 1]));
        return 0;
}
