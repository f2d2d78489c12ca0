/* SPDX-License-Identifier: MIT */
/* The loop nobody writes: malloc/free pairs of any of 241 sizes, and before every eighth pair the caller of every level
 * of the stack is chosen anew. Made to defeat a remembered walk and any table keyed by stack and size.
 *   hostile DEPTH THREADS PAIRS-PER-THREAD */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned depth;
static uint64_t n_pairs;

static __attribute__((noinline)) uint64_t leaf(uint32_t *seed) {
        uint64_t sum = 0;

        for (int i = 0; i < 8; i++) {
                *seed = *seed * 1664525u + 1013904223u;
                volatile char *p = malloc(16 + (*seed >> 24) % 241);

                p[0] = 1;
                sum += (uintptr_t)p & 0xff;
                free((void *)p);
        }
        return sum;
}

static __attribute__((noinline)) uint64_t descend(unsigned level, uint32_t *seed) {
        uint64_t sum;

        if (level == 0)
                return leaf(seed);
        if ((*seed >> (level & 31)) & 1)
                sum = descend(level - 1, seed) + 1;
        else
                sum = descend(level - 1, seed) + 2;
        __asm__ volatile("" ::: "memory");
        return sum;
}

static void *work(void *arg) {
        uint32_t seed = (uint32_t)(uintptr_t)arg * 7919u + 1;
        uint64_t sum = 0;

        for (uint64_t i = 0; i < n_pairs / 8; i++)
                sum += descend(depth, &seed);
        return (void *)(uintptr_t)(sum & 1);
}

int main(int argc, char **argv) {
        pthread_t threads[64];
        long n_threads = argc > 2 ? atol(argv[2]) : 1;

        depth = argc > 1 ? (unsigned)atoi(argv[1]) : 16;
        n_pairs = argc > 3 ? (uint64_t)atoll(argv[3]) : 1000000;
        if (n_threads < 1 || n_threads > 64)
                return 2;
        for (long i = 1; i < n_threads; i++)
                pthread_create(&threads[i], NULL, work, (void *)i);
        work((void *)0);
        for (long i = 1; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
