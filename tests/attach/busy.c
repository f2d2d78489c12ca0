/* SPDX-License-Identifier: MIT */
/* busy THREADS: threads that allocate all the time and check what they have: blocks, registers, vector registers, errno, thread-local
 * variables; a timer interrupts them a thousand times a second. SIGTERM ends it: "ok ROUNDS TICKS", or "bad WHAT" at once. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_BLOCKS = 64, MAX_THREADS = 64 };

static atomic_int stop;
static atomic_ulong ticks, rounds;
static __thread uint64_t own;

static void bad(const char *what) {
        dprintf(1, "bad %s\n", what);
        _exit(1);
}

static void on_tick(int sig, siginfo_t *info, void *context) {
        (void)sig, (void)context;
        atomic_fetch_add(&ticks, 1 + (unsigned long)(info->si_overrun > 0 ? info->si_overrun : 0));
}

static void on_term(int sig) {
        (void)sig;
        atomic_store(&stop, 1);
}

/* The same sums in as many registers as there are: any that a stop changes shows. */
static uint64_t whole_sums(void) {
        uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

        for (unsigned i = 0; i < 300; i++) {
                a += b * 3 + i, b ^= c << 1, c += d * 5, d ^= e >> 3;
                e += f * 7, f ^= g << 2, g += h * 11, h ^= a >> 5;
        }
        return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

static double vector_sums(void) {
        double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;

        for (unsigned i = 0; i < 200; i++)
                for (unsigned k = 0; k < 8; k++)
                        a[k] = a[k] * 1.0000001 + a[(k + 1) % 8] * 0.001;
        for (unsigned k = 0; k < 8; k++)
                sum += a[k];
        return sum;
}

static void *work(void *arg) {
        unsigned seed = (unsigned)(uintptr_t)arg * 2654435761u + 1;
        uint64_t whole = whole_sums();
        double vector = vector_sums();
        unsigned char *blocks[N_BLOCKS] = {0};
        size_t sizes[N_BLOCKS] = {0};

        own = seed;
        while (!atomic_load(&stop)) {
                unsigned i = rand_r(&seed) % N_BLOCKS;
                size_t n = 16 + rand_r(&seed) % 600;

                if (blocks[i])
                        for (size_t k = 0; k < sizes[i]; k += 7)
                                if (blocks[i][k] != (unsigned char)(i + sizes[i]))
                                        bad("block");
                if (rand_r(&seed) % 3 == 0) {
                        blocks[i] = realloc(blocks[i], n);
                } else {
                        free(blocks[i]);
                        blocks[i] = rand_r(&seed) % 2 ? malloc(n) : calloc(1, n);
                }
                if (!blocks[i])
                        bad("memory");
                sizes[i] = n;
                memset(blocks[i], (int)(i + n), n);
                errno = (int)(i + 1000);
                if (whole_sums() != whole)
                        bad("registers");
                if (vector_sums() != vector)
                        bad("vectors");
                if (errno != (int)(i + 1000))
                        bad("errno");
                if (own != (unsigned)(uintptr_t)arg * 2654435761u + 1)
                        bad("thread-local");
                atomic_fetch_add(&rounds, 1);
        }
        for (unsigned i = 0; i < N_BLOCKS; i++)
                free(blocks[i]);
        return NULL;
}

/* Ticks that wait for a thread to run come late, those that are lost never: one moment at which
 * all are there is enough. */
static int ticks_are_whole(const struct timespec *begin) {
        for (int i = 0; i < 3000; i++) {
                struct timespec now;
                long elapsed_ms;

                clock_gettime(CLOCK_MONOTONIC, &now);
                elapsed_ms = (now.tv_sec - begin->tv_sec) * 1000 +
                             (now.tv_nsec - begin->tv_nsec) / 1000000;
                if ((long)atomic_load(&ticks) + 3 >= elapsed_ms)
                        return 1;
                usleep(1000);
        }
        return 0;
}

int main(int argc, char **argv) {
        int n_threads = argc > 1 ? atoi(argv[1]) : 16;
        struct sigaction tick = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
        struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
        struct itimerspec often = {{0, 1000000}, {0, 1000000}};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
        pthread_t threads[MAX_THREADS];
        struct timespec begin;
        timer_t timer;

        sigaction(SIGRTMIN, &tick, NULL);
        sigaction(SIGTERM, &term, NULL);
        for (int i = 0; i < n_threads; i++)
                pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &often, NULL);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        for (int i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        if (!ticks_are_whole(&begin))
                bad("ticks lost");
        printf("ok %lu %lu\n", atomic_load(&rounds), atomic_load(&ticks));
        return 0;
}
