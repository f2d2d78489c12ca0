/* SPDX-License-Identifier: MIT */
/* What sanitizers look for, one fault by argument, or none: "work" allocates 1,000 blocks more than "rest" does. The exit
 * status without a fault is 7. */
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;
static int counter;

__attribute__((noinline)) static void leak_here(void) {
        kept = malloc(321);
        memset(kept, 1, 321);
        kept = NULL;
}

static void *count(void *unused) {
        for (int i = 0; i < 1000; i++)
                counter++;
        return unused;
}

/* Two threads change one number. */
static void race(void) {
        pthread_t one, two;

        pthread_create(&one, NULL, count, NULL);
        pthread_create(&two, NULL, count, NULL);
        pthread_join(one, NULL);
        pthread_join(two, NULL);
}

static void work(void) {
        for (int i = 0; i < 1000; i++) {
                kept = i % 2 ? malloc(i + 1) : operator new(i + 1);
                memset(kept, 1, i + 1);
                if (i % 2)
                        free(kept);
                else
                        operator delete(kept);
        }
        kept = NULL;
}

/* The status of another program, run by posix_spawn or by fork and execv. */
static int run(char **argv, bool spawns) {
        int status = 99;
        pid_t pid;

        if (spawns) {
                if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
                        return 98;
        } else {
                pid = fork();
                if (pid == 0) {
                        execv(argv[0], argv);
                        _exit(97);
                }
        }
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "rest";
        char *block;

        if (strcmp(what, "spawn") == 0 || strcmp(what, "fork") == 0)
                return run(argv + 2, what[0] == 's');
        if (strcmp(what, "work") == 0)
                work();
        if (strcmp(what, "leak") == 0)
                leak_here();
        if (strcmp(what, "race") == 0)
                race();
        block = (char *)malloc(100);
        kept = block;
        memset(block, 0, 100);
        if (strcmp(what, "over") == 0)
                ((volatile char *)block)[100 + argc - 2] = 1;
        free(kept);
        if (strcmp(what, "late") == 0)
                return ((volatile char *)kept)[3];
        if (strcmp(what, "twice") == 0)
                free(kept);
        if (strcmp(what, "mixed") == 0) {
                kept = operator new(10);
                free(kept);
        }
        if (strcmp(what, "stray") == 0) {
                kept = &counter;
                free(kept);
        }
        kept = NULL;
        return 7;
}
