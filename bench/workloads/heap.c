/* SPDX-License-Identifier: MIT */
/* heap BLOCKS MEGABYTES: holds so many blocks of 16 to 144 bytes, each of which points to the one before it and to one other, and so much memory besides, all of
 * it touched. A thread reads the clock all the time. "ready" when all is there; then for each line of stdin "LONGEST_US COUNT": the longest time between two
 * readings since the last line, and how many there were. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct block {
        struct block *before, *other;
};

static struct block *newest, **all;
static _Atomic uint64_t longest_ns, n_readings;

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *watch_clock(void *unused) {
        uint64_t last_ns = now_ns();

        (void)unused;
        for (;;) {
                uint64_t ns = now_ns();

                if (ns - last_ns > longest_ns)
                        longest_ns = ns - last_ns;
                last_ns = ns;
                n_readings++;
        }
        return NULL;
}

int main(int argc, char **argv) {
        size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
        size_t megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
        char *more = megabytes ? malloc(megabytes << 20) : NULL;
        uint64_t seed = 88172645463325252u;
        char line[64];
        pthread_t thread;

        if (more)
                memset(more, 1, megabytes << 20);
        all = malloc((n + 1) * sizeof(*all));
        for (size_t i = 0; i < n; i++) {
                struct block *b;

                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                b = malloc(16 + seed % 129);
                b->before = newest;
                b->other = i ? all[(seed >> 20) % i] : NULL;
                newest = all[i] = b;
        }
        pthread_create(&thread, NULL, watch_clock, NULL);
        printf("ready\n");
        fflush(stdout);
        while (fgets(line, sizeof(line), stdin)) {
                printf("%ju %ju\n", (uintmax_t)atomic_exchange(&longest_ns, 0) / 1000,
                       (uintmax_t)atomic_exchange(&n_readings, 0));
                fflush(stdout);
        }
        return 0;
}
