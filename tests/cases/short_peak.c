/* SPDX-License-Identifier: MIT */
/* Two children, one after the other: each holds 20 MB for a few milliseconds, and lives on for a second without them. */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 20 * 1000 * 1000, N = 2 };

static void rest_ms(long ms) {
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

int main(void) {
        for (int i = 0; i < N; i++) {
                if (fork() == 0) {
                        volatile char *p = malloc(BYTES);

                        for (size_t at = 0; at < BYTES; at += 1024)
                                p[at] = 1;
                        rest_ms(5);
                        free((char *)p);
                        rest_ms(1000);
                        _exit(0);
                }
                wait(NULL);
        }
        return 0;
}
