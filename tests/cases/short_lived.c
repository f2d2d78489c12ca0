/* SPDX-License-Identifier: MIT */
/* short_lived N [spawn]: N processes one after the other, forked or spawned, each with 30 call paths of its own; one block in
 * three is never released. short_lived child: such a process. */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define WORK(n)                                                                                    \
        static __attribute__((noinline)) void work_##n(void) {                                     \
                void *volatile block = malloc(16 + n);                                             \
                                                                                                   \
                if (n % 3)                                                                         \
                        free(block);                                                               \
        }
#define TEN(f, d) f(d##0) f(d##1) f(d##2) f(d##3) f(d##4) f(d##5) f(d##6) f(d##7) f(d##8) f(d##9)
#define CALL(n) work_##n();

/* clang-format off */
TEN(WORK, 1)
TEN(WORK, 2)
TEN(WORK, 3)
/* clang-format on */

static void work(void) {
        TEN(CALL, 1)
        TEN(CALL, 2)
        TEN(CALL, 3)
}

int main(int argc, char **argv) {
        int n = atoi(argv[1]);

        if (!strcmp(argv[1], "child")) {
                work();
                return 0;
        }
        for (int i = 0; i < n; i++) {
                char *child[] = {argv[0], "child", NULL};
                pid_t pid = 0;

                if (argc > 2) {
                        if (posix_spawn(&pid, argv[0], NULL, NULL, child, environ) != 0)
                                return 1;
                } else {
                        pid = fork();
                }
                if (pid == 0) {
                        work();
                        _exit(0);
                }
                if (pid < 0 || waitpid(pid, NULL, 0) != pid)
                        return 1;
        }
        return 0;
}
