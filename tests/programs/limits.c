/* SPDX-License-Identifier: MIT */
/* A program that takes every resource from itself: no more descriptors, no file may grow, no locked
 * memory.
 *
 * RLIMIT_NOFILE 0, RLIMIT_FSIZE 0 (a write that grows a file would kill it by SIGXFSZ),
 * RLIMIT_MEMLOCK 0, then 200,000 times malloc(30) and free (temporary), so that the ring is used up
 * and reused many times, and a fork whose child does 10 of the same and keeps malloc(7).
 *   parent: allocations 200,001, frees 200,000, bytes 6,000,010, temporary 200,000, peak 40 in 2,
 *   end 10 in 1 child: inherits 10; allocations 11, frees 10, bytes 307, temporary 10, peak 40 in
 *   2, end 17 in 2 */
#include "truth.h"
#include <sys/resource.h>
#include <sys/wait.h>

int main(void) {
        struct rlimit none = {0, 0};
        int status;

        MUST(malloc(10));
        MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
        MUST(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
        MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
        for (int i = 0; i < 200000; i++)
                free(malloc(30));
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
                for (int i = 0; i < 10; i++)
                        free(malloc(30));
                MUST(malloc(7));
                _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
        truth_say("child", child);
        return 0;
}
