/* SPDX-License-Identifier: MIT */
/* Threads that are all alive at once, and what is resident in the process then:
 *   crowd N-THREADS CALLS
 * Every thread makes CALLS allocations and releases at depths of 1 to 40 frames,
 * and stays. The first thread is one of them. Prints the resident bytes of the whole process. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        abort();                                                                   \
        } while (0)

static long n_calls;
static pthread_barrier_t all_done, told;

static __attribute__((noinline)) void leaf(uint32_t i) {
        volatile char *a = malloc(24 + i % 200), *b = malloc(16);

        MUST(a && b);
        a[0] = b[0] = 1;
        free((void *)b);
        free((void *)a);
}

static void descend(unsigned depth, uint32_t i);

/* Eight ways to each level: many stacks. */
#define CALLER(n)                                                                                  \
        static __attribute__((noinline)) void caller_##n(unsigned depth, uint32_t i) {             \
                descend(depth, i / 3 + n);                                                         \
                __asm__ volatile("");                                                              \
        }
/* clang-format off */
CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6) CALLER(7)
        /* clang-format on */

        static void (*const callers[8])(unsigned, uint32_t) = {caller_0, caller_1, caller_2,
                                                               caller_3, caller_4, caller_5,
                                                               caller_6, caller_7};

static void descend(unsigned depth, uint32_t i) {
        if (depth == 0)
                leaf(i);
        else
                callers[i % 8](depth - 1, i);
        __asm__ volatile("");
}

static void *work(void *arg) {
        uint32_t seed = (uint32_t)(uintptr_t)arg * 7919u + 1;

        for (long i = 0; i < n_calls; i++) {
                seed = seed * 1664525u + 1013904223u;
                descend((seed >> 16) % 20, seed >> 8);
        }
        pthread_barrier_wait(&all_done);
        pthread_barrier_wait(&told);
        return NULL;
}

static long resident_bytes(void) {
        FILE *f = fopen("/proc/self/smaps_rollup", "r");
        long kib = -1;
        char line[256];

        MUST(f);
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "Rss: %ld kB", &kib) == 1)
                        break;
        fclose(f);
        return kib * 1024;
}

int main(int argc, char **argv) {
        long n_threads = argc > 1 ? atol(argv[1]) : 1;
        pthread_attr_t attr;
        pthread_t thread;

        n_calls = argc > 2 ? atol(argv[2]) : 1;
        MUST(n_threads >= 1);
        MUST(pthread_barrier_init(&all_done, NULL, (unsigned)n_threads) == 0);
        MUST(pthread_barrier_init(&told, NULL, (unsigned)n_threads) == 0);
        MUST(pthread_attr_init(&attr) == 0);
        MUST(pthread_attr_setstacksize(&attr, 256 << 10) == 0);
        for (long i = 1; i < n_threads; i++)
                MUST(pthread_create(&thread, &attr, work, (void *)i) == 0);
        for (long i = 0; i < n_calls; i++)
                descend((unsigned)(i % 20), (uint32_t)i * 2654435761u);
        pthread_barrier_wait(&all_done);
        printf("%ld\n", resident_bytes());
        fflush(stdout);
        pthread_barrier_wait(&told);
        return 0;
}
