/* SPDX-License-Identifier: MIT */
/* A program that kills its recorder before it does anything else, and ends with status 3. Whoever started it has the recorder as a
 * child. Status 4: there was none. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_recorder(int pid) {
        char path[64], name[32] = "";
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        fd = open(path, O_RDONLY);
        n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
        close(fd);
        return n > 0 && strcmp(name, "silt-recorder\n") == 0;
}

int main(void) {
        char path[64], list[4096] = "";
        char *at = list, *end;
        int fd, n_killed = 0;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
        fd = open(path, O_RDONLY);
        if (fd < 0 || read(fd, list, sizeof(list) - 1) <= 0)
                return 4;
        for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
                if (is_recorder((int)pid) && kill((pid_t)pid, SIGKILL) == 0)
                        n_killed++;
                at = end;
        }
        return n_killed == 1 ? 3 : 4;
}
