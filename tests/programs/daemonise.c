/* SPDX-License-Identifier: MIT */
/* A daemon: fork, setsid, fork, descriptors closed; the first process returns while the daemon
 * works on.
 *
 * First process: malloc(100) kept.
 *   allocations 1, bytes 100, end 100 in 1
 * Second (session leader): inherits 100; malloc(10) kept; forks the daemon, tells its own pid and
 * the daemon's through a pipe, ends.
 *   allocations 1, bytes 10, end = peak = 110 in 2
 * Daemon: inherits 110 in 2; waits until its ancestors are gone (the pipe's other end closes),
 * then 1,000 times malloc(50) and free (temporary), malloc(3) kept, frees the inherited 100, exits.
 *   allocations 1,001, frees 1,001, bytes 50,003, temporary 1,000, peak 160 in 3, end 13 in 2 */
#include "truth.h"
#include <fcntl.h>

int main(void) {
        int news[2], gone[2];
        pid_t pids[2];
        void *inherited = malloc(100);

        MUST(inherited && pipe2(news, O_CLOEXEC) == 0 && pipe2(gone, O_CLOEXEC) == 0);
        pid_t leader = fork();
        MUST(leader >= 0);
        if (leader > 0) {
                close(gone[0]);
                MUST(read(news[0], pids, sizeof(pids)) == sizeof(pids));
                truth_say("leader", pids[0]);
                truth_say("daemon", pids[1]);
                return 0; /* closes gone[1], as the leader's end does */
        }
        MUST(setsid() >= 0 && malloc(10));
        pid_t daemon_pid = fork();
        MUST(daemon_pid >= 0);
        if (daemon_pid > 0) {
                pids[0] = getpid();
                pids[1] = daemon_pid;
                MUST(write(news[1], pids, sizeof(pids)) == sizeof(pids));
                _exit(0);
        }
        char byte;
        close(gone[1]);
        MUST(read(gone[0], &byte, 1) == 0);
        for (int fd = 0; fd < 1024; fd++)
                close(fd);
        for (int i = 0; i < 1000; i++)
                free(malloc(50));
        MUST(malloc(3));
        free(inherited);
        exit(0);
}
