/* SPDX-License-Identifier: MIT */
/* A forked child frees and reallocates blocks it inherited; the parent's own live on.
 *
 * Parent: 10 blocks of 100. After the child has ended it frees them all; the last one is its last
 * allocation:
 * temporary.   allocations 10   frees 10   bytes 1,000   temporary 1   peak 1,000 in 10   end 0
 * Child: starts with 1,000 in 10, its peak. Frees 4, realloc of one to 150, malloc(30); never the
 * last block.
 *   allocations 2   frees 5   reallocations 1   bytes 180   temporary 0   end 500 + 150 + 30 in 7 */
#include "truth.h"
#include <sys/wait.h>

int main(void) {
        char *block[10];
        int status;

        for (int i = 0; i < 10; i++)
                MUST(block[i] = malloc(100));
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
                for (int i = 0; i < 4; i++)
                        free(block[i]);
                MUST(realloc(block[4], 150));
                MUST(malloc(30));
                _exit(5);
        }
        MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
        for (int i = 0; i < 10; i++)
                free(block[i]);
        truth_say("child", child);
        return 0;
}
