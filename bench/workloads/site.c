/* SPDX-License-Identifier: MIT */
/* malloc/free pairs from one place at a given call depth, for counting what one of them costs.
 *
 *   site DEPTH PAIRS [ROUNDS] [hold]     hold: blocks are never released
 *
 * Prints the nanoseconds of the thread's CPU time that a pair took, in the best of the rounds. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t n_pairs;
static bool holds;
static volatile unsigned n_returned;

static double cpu_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void leaf(void) {
        for (uint64_t i = 0; i < n_pairs; i++) {
                volatile char *p = malloc(16 + (i & 15) * 16);

                p[0] = 1;
                if (!holds)
                        free((void *)p);
        }
}

static __attribute__((noinline)) void descend(unsigned level) {
        if (level)
                descend(level - 1);
        else
                leaf();
        n_returned++;
}

int main(int argc, char **argv) {
        unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 16;
        int n_rounds = argc > 3 ? atoi(argv[3]) : 1;
        double best_ns = 0;

        n_pairs = argc > 2 ? (uint64_t)atoll(argv[2]) : 100000;
        holds = argc > 4;
        if (depth < 2 || !n_pairs)
                return 2;
        for (int i = 0; i < n_rounds; i++) {
                double begin_ns = cpu_ns(), ns;

                descend(depth - 2); /* the leaf and level 0 are two frames */
                ns = (cpu_ns() - begin_ns) / (double)n_pairs;
                best_ns = i == 0 || ns < best_ns ? ns : best_ns;
        }
        printf("%.2f\n", best_ns);
        return 0;
}
