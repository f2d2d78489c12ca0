/* SPDX-License-Identifier: MIT */
/* vfork: the child runs in the parent's memory, and its allocations are the parent's.
 *
 * Parent: malloc(10). vfork child 1: malloc(20) kept, malloc(5) freed (temporary), _exit. vfork
 * child 2: malloc(30) kept, then exec of this program as `child`. The parent frees the 20 (5 came
 * after: not temporary).
 *   parent: allocations 4   frees 2   bytes 65   temporary 1   end 10 + 30 in 2
 *   peak: 10 + 20 + 30 = 60 in 3 (before: 35 in 3)
 *   exec'd child: malloc(77) kept, status 3: allocations 1, bytes 77, end 77 in 1 */
#include "truth.h"
#include <sys/wait.h>

int main(int argc, char **argv) {
        static void *volatile from_child;
        int status;

        if (argc > 1) {
                MUST(malloc(77));
                return 3;
        }
        MUST(malloc(10));
        pid_t child = vfork();
        MUST(child >= 0);
        if (child == 0) {
                from_child = malloc(20);
                free(malloc(5));
                _exit(4);
        }
        MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
        child = vfork();
        MUST(child >= 0);
        if (child == 0) {
                MUST(malloc(30));
                execl(argv[0], argv[0], "child", (char *)NULL);
                _exit(97);
        }
        MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
        free(from_child);
        truth_say("child", child);
        return 0;
}
