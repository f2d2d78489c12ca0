/* SPDX-License-Identifier: MIT */
/* A parent and a child with blocks of their own, and those that the child has from its parent; "exec": the child becomes another program first. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_PARENT = 1000, PARENT_BYTES = 2000, N_CHILD = 3000, CHILD_BYTES = 500 };

static char *keep[N_CHILD];

static void fill(int n, size_t bytes) {
        for (int i = 0; i < n; i++) {
                keep[i] = malloc(bytes);
                memset(keep[i], 1, bytes);
        }
}

static int child_main(void) {
        fill(N_CHILD, CHILD_BYTES);
        usleep(3000000);
        return keep[0] == NULL;
}

int main(int argc, char **argv) {
        pid_t pid;

        if (argc > 1 && strcmp(argv[1], "child") == 0)
                return child_main();
        fill(N_PARENT, PARENT_BYTES);
        pid = fork();
        if (pid == 0 && argc > 1)
                execl("/proc/self/exe", argv[0], "child", (char *)NULL);
        if (pid == 0)
                return child_main();
        return waitpid(pid, NULL, 0) != pid;
}
