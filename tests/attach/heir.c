/* SPDX-License-Identifier: MIT */
/* heir MS: at a byte on its input it forks and is gone; the child, which has not run for MS milliseconds then, makes 1,000 allocations, sleeps, and makes
 * 1,000 more. With MS "never" it makes a child without a word, which allocates nothing and ends by itself; with "stay" one that says when it made 1,000
 * allocations, and stays. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned late_ms;

/* Registered before silt came: its turn is first. */
static void be_late(void) {
        usleep(late_ms * 1000);
}

static void work(void) {
        for (int i = 0; i < 1000; i++)
                free(malloc(100));
}

int main(int argc, char **argv) {
        int is_silent = argc > 1 && !strcmp(argv[1], "never");
        char byte;

        late_ms = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
        pthread_atfork(NULL, NULL, be_late);
        dprintf(1, "ready %d\n", (int)getpid());
        if (read(0, &byte, 1) != 1)
                return 1;
        if (is_silent ? syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0) : fork())
                _exit(0);
        if (is_silent) {
                sleep(20);
                _exit(0);
        }
        work();
        if (argc > 1 && !strcmp(argv[1], "stay")) {
                (void)!write(1, "worked\n", 7);
                pause();
        }
        usleep(300000);
        work();
        return 0;
}
