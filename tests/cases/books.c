/* SPDX-License-Identifier: MIT */
/* Blocks of all sizes, two of three freed; then what jemalloc itself says of its free memory. Linked with jemalloc. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mallctl(const char *name, void *old, size_t *old_bytes, void *value, size_t value_bytes);

enum { N = 40000 };
static char *blocks[N];

static size_t figure(const char *name) {
        size_t value = 0, n = sizeof(value);

        if (mallctl(name, &value, &n, NULL, 0))
                exit(3);
        return value;
}

int main(void) {
        static char line[256];
        uint64_t epoch = 1;
        int n;

        for (int i = 0; i < N; i++) {
                size_t bytes = (size_t)(i % 50 ? i % 700 + 8 : 30000);

                blocks[i] = malloc(bytes);
                memset(blocks[i], 1, bytes);
        }
        for (int i = 0; i < N; i++)
                if (i % 3)
                        free(blocks[i]);
        if (mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)))
                return 3;
        n = snprintf(line, sizeof(line), "%zu %zu %zu\n", figure("stats.arenas.0.pdirty"),
                     figure("stats.arenas.0.pmuzzy"), figure("stats.arenas.0.tcache_bytes"));
        if (write(1, line, (size_t)n) != n)
                return 1;
        pause();
        return 0;
}
