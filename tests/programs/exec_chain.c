/* SPDX-License-Identifier: MIT */
/* One process, five images: each exec's the next by another call: execl, execv, execve, fexecve,
 * execveat (raw).
 *
 * Image k (1..5) allocates k blocks of 100, frees the first one (temporary in image 1 only), and
 *   goes on to the next. allocations k, frees 1, bytes 100 k, peak 100 k in k, end 100 (k - 1) in k
 *   - 1
 * What lives at the exec is that image's end. The main process is the last image. */
#include "truth.h"
#include <fcntl.h>
#include <sys/syscall.h>

extern char **environ;

int main(int argc, char **argv) {
        int k = argc > 1 ? argv[1][0] - '0' : 1;
        char next[2] = {(char)('1' + k), 0}, *next_argv[] = {argv[0], next, NULL};
        void *first = malloc(100);
        int fd = -1;

        for (int i = 1; i < k; i++)
                MUST(malloc(100));
        free(first);
        if (k >= 3)
                MUST((fd = open(argv[0], O_RDONLY | O_CLOEXEC)) >= 0);
        if (k == 1)
                execl(argv[0], argv[0], next, (char *)NULL);
        if (k == 2)
                execv(argv[0], next_argv);
        if (k == 3)
                fexecve(fd, next_argv, environ);
        if (k == 4)
                syscall(SYS_execveat, fd, "", next_argv, environ, AT_EMPTY_PATH);
        return k == 5 ? 6 : 1;
}
