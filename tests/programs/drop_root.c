/* SPDX-License-Identifier: MIT */
/* A server that gives up its rights: after setresuid it is another user's process, no longer
 * dumpable; it goes on allocating and forks. Run by an ordinary user, giving up nothing, it has the
 * same figures.
 *
 *   before: malloc(100) kept; after: 5,000 times malloc(40) and free (temporary); fork
 *   parent: allocations 5,001, frees 5,000, bytes 200,100, temporary 5,000, peak 140 in 2, end 100
 *   in 1 child: inherits 100; malloc(9) kept, frees the 100: allocations 1, frees 1, bytes 9, peak
 *   109 in 2, end 9 in 1 (the inherited block was allocated by the parent, and the 9 came in
 *   between: not temporary) */
#include "truth.h"
#include <sys/wait.h>

int main(void) {
        void *block = malloc(100);
        int status;

        if (getuid() == 0)
                MUST(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        for (int i = 0; i < 5000; i++)
                free(malloc(40));
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
                MUST(malloc(9));
                free(block);
                _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
        truth_say("child", child);
        return 0;
}
