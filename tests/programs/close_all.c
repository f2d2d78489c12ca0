/* SPDX-License-Identifier: MIT */
/* A program that closes every descriptor it does not know, and finds none: the runtime keeps none
 * open. It goes on allocating, forks, and the child execs this program again, which must find the
 * recorder with no help.
 *
 * First: no descriptor from 3 to 1,023 is open (checked by fcntl: statement `strangers`, expected
 * 0). Parent: malloc(10); closes 3..1,023 and stdin; 1,000 times malloc(20) and free (temporary);
 *   forks. allocations 1,001, frees 1,000, bytes 20,010, temporary 1,000, peak 30 in 2, end 10 in 1
 * Child image 1: inherits 10 in 1; malloc(30) kept; exec.   allocations 1, bytes 30, end = peak =
 * 40 in 2 Child image 2: malloc(40) kept: end = peak = 40 in 1 */
#include "truth.h"
#include <fcntl.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
        unsigned long n_strangers = 0;
        int status;

        for (int fd = 3; fd < 1024; fd++)
                n_strangers += fcntl(fd, F_GETFD) >= 0;
        if (argc > 1) {
                MUST(malloc(40) && n_strangers == 0);
                return 3;
        }
        truth_say("strangers", n_strangers);
        MUST(malloc(10));
        close(0);
        for (int fd = 3; fd < 1024; fd++)
                close(fd);
        for (int i = 0; i < 1000; i++)
                free(malloc(20));
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
                MUST(malloc(30));
                execl(argv[0], argv[0], "again", (char *)NULL);
                _exit(97);
        }
        MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
        truth_say("child", child);
        return 0;
}
