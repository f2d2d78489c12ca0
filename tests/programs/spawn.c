/* SPDX-License-Identifier: MIT */
/* posix_spawn of this program, five times at once; each child allocates by its number.
 *
 * Parent: malloc(10) kept; posix_spawn without actions allocates nothing.   allocations 1, bytes 10
 * Child n (1..5): n blocks of 100, frees the first; the last stays: temporary only for n = 1.
 *   allocations n, frees 1, bytes 100 n, peak 100 n in n, end 100 (n - 1) in n - 1; status n */
#include "truth.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int run_child(int n) {
        void *first = malloc(100);

        for (int i = 1; i < n; i++)
                MUST(malloc(100));
        free(first);
        return n;
}

int main(int argc, char **argv) {
        pid_t child[6];

        if (argc > 1)
                return run_child(argv[1][0] - '0');
        MUST(malloc(10));
        for (int n = 1; n <= 5; n++) {
                char number[2] = {(char)('0' + n), 0}, *child_argv[] = {argv[0], number, NULL};
                MUST(posix_spawn(&child[n], argv[0], NULL, NULL, child_argv, environ) == 0);
        }
        for (int n = 1; n <= 5; n++) {
                int status;
                char name[3] = {'c', (char)('0' + n), 0};
                MUST(waitpid(child[n], &status, 0) == child[n] && WEXITSTATUS(status) == n);
                truth_say(name, child[n]);
        }
        return 0;
}
