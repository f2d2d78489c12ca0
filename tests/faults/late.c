/* SPDX-License-Identifier: MIT */
/* A daemon that gets no processor for a while after it was forked: `late DOOR`. DOOR is the list of processes of a cgroup
 * with hardly any CPU time. The first process ends as soon as the daemon exists, long before it runs.
 *
 * First process: malloc(100) kept. Leader: enters DOOR, waits until it was held back and may run again, forks at once.
 * Daemon: 1,000 times malloc(50) and free, exits. Nothing else allocates. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(97);                                                                 \
        } while (0)

static double now_s(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void enter(const char *door) {
        int fd = open(door, O_WRONLY | O_CLOEXEC);

        MUST(fd >= 0 && write(fd, "0", 1) == 1);
        close(fd);
}

/* Returns at the beginning of a new period, with all of its time. */
static void use_up(void) {
        double before_s = now_s(), at_s;

        while ((at_s = now_s()) - before_s < 0.05)
                before_s = at_s;
}

int main(int argc, char **argv) {
        int news[2];
        pid_t pids[2];
        char line[64];

        MUST(argc == 2 && malloc(100) && pipe2(news, O_CLOEXEC) == 0);
        pid_t leader = fork();
        MUST(leader >= 0);
        if (leader > 0) {
                MUST(read(news[0], pids, sizeof(pids)) == sizeof(pids));
                int length = snprintf(line, sizeof(line), "leader %d\ndaemon %d\n", (int)pids[0],
                                      (int)pids[1]);
                MUST(write(1, line, (size_t)length) == length);
                return 0;
        }
        setsid();
        enter(argv[1]);
        use_up();
        pid_t daemon_pid = fork();
        MUST(daemon_pid >= 0);
        if (daemon_pid > 0) {
                pids[0] = getpid();
                pids[1] = daemon_pid;
                MUST(write(news[1], pids, sizeof(pids)) == sizeof(pids));
                _exit(0);
        }
        for (int i = 0; i < 1000; i++)
                free(malloc(50));
        _exit(0);
}
