/* SPDX-License-Identifier: MIT */
/* count: allocates a block of each form, says "ready PID", then does what a line on stdin says, and answers "done":
 *   make N      allocates N blocks of 10 bytes by malloc, and keeps them
 *   drop N      releases N of them, the newest first
 *   mixed N     N rounds of all forms, each released: 10 allocations and 10 releases
 *   old         releases the blocks of the begin
 *   threads N   N threads, each one allocation and one release
 *   fork N      a child that makes N blocks and ends
 *   open PATH   opens a library, and calls its `work` a hundred times
 *   exec PATH   becomes that program
 *   end */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BLOCKS = 1 << 20, N_OLD = 6 };

static void *blocks[MAX_BLOCKS];
static size_t n_blocks;
static void *old[N_OLD];

static void make(long n) {
        for (long i = 0; i < n; i++)
                blocks[n_blocks++] = malloc(10);
}

static void drop(long n) {
        for (long i = 0; i < n; i++)
                free(blocks[--n_blocks]);
}

static void mixed(long n) {
        for (long i = 0; i < n; i++) {
                void *b[8], *p = NULL;

                b[0] = malloc(1);
                b[1] = calloc(3, 5);
                b[2] = realloc(malloc(7), 900); /* two allocations, one release */
                b[3] = reallocarray(NULL, 4, 9);
                b[4] = memalign(64, 70);
                b[5] = aligned_alloc(64, 128);
                b[6] = posix_memalign(&p, 4096, 5000) ? NULL : p;
                b[7] = strdup("of the C library itself");
                for (int k = 0; k < 8; k++)
                        free(b[k]);
                free(valloc(30));
        }
}

static void *one(void *arg) {
        free(malloc((size_t)(uintptr_t)arg));
        return NULL;
}

static void threads(long n) {
        for (long i = 0; i < n; i++) {
                pthread_t thread;

                pthread_create(&thread, NULL, one, (void *)(uintptr_t)(100 + i));
                pthread_join(thread, NULL);
        }
}

static void child(long n) {
        pid_t pid = fork();

        if (pid == 0) {
                make(n);
                _exit(0);
        }
        waitpid(pid, NULL, 0);
}

static void library(const char *path) {
        void *handle = dlopen(path, RTLD_NOW);
        void (*work)(void) = handle ? (void (*)(void))dlsym(handle, "work") : NULL;

        if (!work)
                abort();
        for (int i = 0; i < 100; i++)
                work();
}

int main(void) {
        char line[4200];

        setvbuf(stdout, NULL, _IONBF, 0);
        setvbuf(stdin, NULL, _IONBF, 0);
        for (int i = 0; i < N_OLD; i++)
                old[i] = malloc(100);
        printf("ready %d\n", (int)getpid());
        while (fgets(line, sizeof(line), stdin)) {
                char *space = strchr(line, ' ');
                long n = space ? atol(space) : 0;

                if (!strncmp(line, "make", 4))
                        make(n);
                else if (!strncmp(line, "drop", 4))
                        drop(n);
                else if (!strncmp(line, "mixed", 5))
                        mixed(n);
                else if (!strncmp(line, "threads", 7))
                        threads(n);
                else if (!strncmp(line, "open", 4) && space)
                        line[strcspn(line, "\n")] = '\0', library(space + 1);
                else if (!strncmp(line, "exec", 4) && space)
                        line[strcspn(line, "\n")] = '\0', execl(space + 1, space + 1, NULL);
                else if (!strncmp(line, "fork", 4))
                        child(n);
                else if (!strncmp(line, "old", 3))
                        for (int i = 0; i < N_OLD; i++)
                                free(old[i]), old[i] = NULL;
                else
                        break;
                puts("done");
        }
        return 0;
}
