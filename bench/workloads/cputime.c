/* SPDX-License-Identifier: MIT */
/* cputime FILE CPU PROG ARG…: runs PROG on one CPU ("all": wherever) and writes into FILE the CPU time and the time it took, in
 * nanoseconds. Inside whatever records, so that only the program is measured. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long ns_of(struct timeval t) {
        return (long)t.tv_sec * 1000000000 + (long)t.tv_usec * 1000;
}

static long now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv) {
        struct rusage used;
        cpu_set_t cpus;
        FILE *file;
        int status;
        long begin_ns;
        pid_t pid;

        if (argc < 4)
                return 2;
        CPU_ZERO(&cpus);
        CPU_SET((unsigned)atoi(argv[2]), &cpus);
        begin_ns = now_ns();
        pid = fork();
        if (pid == 0) {
                if (strcmp(argv[2], "all") != 0)
                        sched_setaffinity(0, sizeof(cpus), &cpus);
                execvp(argv[3], argv + 3);
                _exit(127);
        }
        if (pid < 0 || wait4(pid, &status, 0, &used) != pid || !(file = fopen(argv[1], "w")))
                return 2;
        fprintf(file, "%ld %ld\n", ns_of(used.ru_utime) + ns_of(used.ru_stime),
                now_ns() - begin_ns);
        return fclose(file) || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}
