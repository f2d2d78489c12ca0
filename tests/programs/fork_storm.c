/* SPDX-License-Identifier: MIT */
/* 300 children forked as fast as possible, up to 16 alive at a time, each with 10,000 inherited
 * blocks.
 *
 * Parent: 10,000 blocks of 20 bytes, kept: 10,000 allocations, 200,000 bytes. Nothing else: the
 * loop allocates nothing. Child number i frees inherited blocks 0 .. 9, allocates i % 10 + 1 blocks
 * of 3 bytes, keeps them. All processes together: allocations 10,000 + 30 * 55 = 11,650; frees
 * 3,000; bytes 200,000 + 4,950; 301 processes. The first and last child tell their pids: c0 has 1
 * block of its own, c299 has 10. */
#include "truth.h"
#include <sys/wait.h>

int main(void) {
        static void *block[10000];
        int n_alive = 0, status;

        for (int i = 0; i < 10000; i++)
                MUST(block[i] = malloc(20));
        for (int i = 0; i < 300; i++) {
                if (n_alive == 16) {
                        MUST(wait(&status) > 0 && status == 0);
                        n_alive--;
                }
                pid_t child = fork();
                MUST(child >= 0);
                if (child == 0) {
                        for (int k = 0; k < 10; k++)
                                free(block[k]);
                        for (int k = 0; k <= i % 10; k++)
                                MUST(malloc(3));
                        _exit(0);
                }
                n_alive++;
                if (i == 0 || i == 299)
                        truth_say(i ? "c299" : "c0", child);
        }
        while (n_alive--)
                MUST(wait(&status) > 0 && status == 0);
        return 0;
}
