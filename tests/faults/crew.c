/* SPDX-License-Identifier: MIT */
/* A program whose output and status say whether it was harmed: `crew THREADS ROUNDS PAUSE_US`.
 *
 * Each thread does ROUNDS times: 64 allocations of 16 to 1,039 bytes, filled, summed up and released,
 * then a pause. All of it is decided by the arguments, so two runs print the same: how many
 * allocations and releases there were (with the TLS table that libc allocates per thread and keeps
 * with the thread's small stack), and the sum of what the blocks held. The status is 23. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_BLOCKS = 64, N_THREADS_MAX = 64 };

struct worker {
        pthread_t thread;
        unsigned no;
        unsigned long sum;
};

static unsigned long n_rounds, pause_us;

__attribute__((noinline)) static unsigned char *fetch(unsigned no, unsigned long round, int i) {
        size_t size = 16 + (no * 37 + round * 11 + (unsigned)i * 29) % 1024;
        unsigned char *block = malloc(size);

        if (!block)
                _exit(97);
        memset(block, (int)(size % 251), size);
        return block;
}

static void *work(void *ctx) {
        struct worker *w = ctx;
        struct timespec rest = {0, (long)pause_us * 1000};
        unsigned char *blocks[N_BLOCKS];

        for (unsigned long r = 0; r < n_rounds; r++) {
                for (int i = 0; i < N_BLOCKS; i++)
                        blocks[i] = fetch(w->no, r, i);
                for (int i = 0; i < N_BLOCKS; i++) {
                        w->sum = w->sum * 31 + blocks[i][0] + blocks[i][15];
                        free(blocks[i]);
                }
                if (pause_us)
                        nanosleep(&rest, NULL);
        }
        return NULL;
}

int main(int argc, char **argv) {
        static struct worker workers[N_THREADS_MAX];
        unsigned n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
        unsigned long sum = 0, n;
        pthread_attr_t attr;
        char line[160];
        int len;

        n_rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
        pause_us = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 256 << 10);
        for (unsigned i = 0; i < n_threads; i++) {
                workers[i].no = i;
                if (pthread_create(&workers[i].thread, &attr, work, &workers[i]) != 0)
                        _exit(96);
        }
        for (unsigned i = 0; i < n_threads; i++) {
                pthread_join(workers[i].thread, NULL);
                sum = sum * 1000003 + workers[i].sum;
        }
        n = n_threads * n_rounds * N_BLOCKS;
        len = snprintf(line, sizeof(line), "allocations %lu\nfrees %lu\nsum %lu\n", n + n_threads,
                       n, sum);
        if (write(1, line, (size_t)len) != len)
                _exit(95);
        return 23;
}
