/* SPDX-License-Identifier: MIT */
/* Small blocks that survive between freed ones: of each 16 KiB, 96 bytes stay. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4000 };
static char *kept[N], *freed[N][4];

__attribute__((noinline)) static char *log_line(void) {
        char *p = malloc(96);

        memset(p, 1, 96);
        return p;
}

__attribute__((noinline)) static char *session(void) {
        char *p = malloc(4060);

        memset(p, 1, 4060);
        return p;
}

int main(void) {
        for (int i = 0; i < N; i++) {
                for (int k = 0; k < 4; k++)
                        freed[i][k] = session();
                kept[i] = log_line();
        }
        for (int i = 0; i < N; i++)
                for (int k = 0; k < 4; k++)
                        free(freed[i][k]);
        usleep(2500000);
        return kept[0] == NULL;
}
