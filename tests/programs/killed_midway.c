/* SPDX-License-Identifier: MIT */
/* A child is killed by SIGKILL while it allocates: everything it did must be in the trace.
 *
 * The child allocates blocks of 8 bytes for ever and counts each in memory shared with its parent
 * after malloc returned; the parent kills it once it has 50,000 and reads the count n.
 *   child: n allocations, or n + 1 if it was killed between malloc and counting
 *   parent: malloc(10): allocations 1 */
#include "truth.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void) {
        volatile unsigned long *n =
                mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int status;

        MUST(n != MAP_FAILED);
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0)
                for (;;) {
                        MUST(malloc(8));
                        ++*n;
                }
        MUST(malloc(10));
        while (*n < 50000)
                sched_yield();
        kill(child, SIGKILL);
        MUST(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        truth_say("child", child);
        truth_say("n", *n);
        return 0;
}
