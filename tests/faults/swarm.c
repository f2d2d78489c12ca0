/* SPDX-License-Identifier: MIT */
/* Many at once: `swarm fork N BLOCKS`, `swarm spawn N`, `swarm threads N`, `swarm short N [locked]`. The status
 * is 0, and nothing but what is said here allocates.
 *
 *   fork     allocates BLOCKS blocks of 16 bytes and forks N children. When all live, child i
 *            releases 5 of them, allocates i % 10 + 1 blocks of 3 bytes, and ends.
 *   spawn    starts N times itself as `swarm kid i`, which waits until all live, allocates i % 10 + 1
 *            blocks of 3 bytes, and ends.
 *   threads  N threads. When all live, each allocates 3 blocks of 10 bytes and releases one. libc
 *            allocates a TLS table for each: 4 N allocations, N releases, N + 1 threads. All live
 *            to the end: what libc releases with a thread depends on its cache of stacks.
 *   short    N threads, 8 at a time, each allocates 10 bytes and releases them: N + 8 allocations,
 *            N releases, N + 1 threads: TLS tables stay with the stacks, which are used again. With one
 *            more argument all memory is locked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_AT_A_TIME = 8, N_BLOCKS_MAX = 100000, N_THREADS_MAX = 4000 };

static int gate[2]; /* read: waits until the parent has closed its writing end */
static void *blocks[N_BLOCKS_MAX];
static pthread_t threads[N_THREADS_MAX];
static pthread_barrier_t barrier;
static void *volatile kept;

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

static void await_all(int fd) {
        char byte;

        MUST(read(fd, &byte, 1) == 0);
}

static void allocate_kid(long no) {
        for (long i = 0; i <= no % 10; i++)
                MUST(kept = malloc(3));
}

static void open_gate_and_wait(long n) {
        int status;

        close(gate[1]);
        while (n--)
                MUST(wait(&status) > 0 && status == 0);
}

static void run_forks(long n, long n_blocks) {
        for (long i = 0; i < n_blocks; i++)
                MUST(blocks[i] = malloc(16));
        for (long i = 0; i < n; i++) {
                pid_t child = fork();

                MUST(child >= 0);
                if (child == 0) {
                        close(gate[1]);
                        await_all(gate[0]);
                        for (int k = 0; k < 5; k++)
                                free(blocks[k]);
                        allocate_kid(i);
                        _exit(0);
                }
        }
        open_gate_and_wait(n);
}

static void run_spawns(const char *program, long n) {
        extern char **environ;

        for (long i = 0; i < n; i++) {
                char number[16], reading[16], writing[16];
                char *argv[] = {(char *)program, "kid", number, reading, writing, NULL};
                pid_t child;

                snprintf(number, sizeof(number), "%ld", i);
                snprintf(reading, sizeof(reading), "%d", gate[0]);
                snprintf(writing, sizeof(writing), "%d", gate[1]);
                MUST(posix_spawn(&child, program, NULL, NULL, argv, environ) == 0);
        }
        open_gate_and_wait(n);
}

static void *one_of_many(void *unused) {
        void *mine[3];

        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 3; i++)
                MUST(mine[i] = malloc(10));
        free(mine[1]);
        pthread_barrier_wait(&barrier);
        for (;;)
                pause();
        return unused;
}

static void *one_short(void *unused) {
        free(malloc(10));
        return unused;
}

static void run_threads(long n, long at_a_time, void *(*body)(void *)) {
        pthread_attr_t attr;

        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 128 << 10) == 0);
        for (long done = 0; done < n; done += at_a_time) {
                for (long i = 0; i < at_a_time; i++)
                        MUST(pthread_create(&threads[i], &attr, body, NULL) == 0);
                if (body == one_of_many) {
                        pthread_barrier_wait(&barrier); /* all live */
                        pthread_barrier_wait(&barrier); /* all are done */
                        _exit(0);
                }
                for (long i = 0; i < at_a_time; i++)
                        MUST(pthread_join(threads[i], NULL) == 0);
        }
}

int main(int argc, char **argv) {
        const char *what = argc > 2 ? argv[1] : "";
        long n = argc > 2 ? atol(argv[2]) : 0;

        if (strcmp(what, "kid") == 0 && argc > 4) {
                close(atoi(argv[4]));
                await_all(atoi(argv[3]));
                allocate_kid(n);
                return 0;
        }
        MUST(pipe(gate) == 0);
        if (strcmp(what, "fork") == 0 && argc > 3 && atol(argv[3]) <= N_BLOCKS_MAX)
                run_forks(n, atol(argv[3]));
        else if (strcmp(what, "spawn") == 0)
                run_spawns(argv[0], n);
        else if (strcmp(what, "threads") == 0 && n <= N_THREADS_MAX) {
                MUST(pthread_barrier_init(&barrier, NULL, (unsigned)n + 1) == 0);
                run_threads(n, n, one_of_many);
        } else if (strcmp(what, "short") == 0 && n % N_AT_A_TIME == 0) {
                MUST(argc < 4 || mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
                run_threads(n, N_AT_A_TIME, one_short);
        } else
                return 99;
        return 0;
}
