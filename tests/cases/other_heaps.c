/* SPDX-License-Identifier: MIT */
/* other_heaps N_THREADS: every thread keeps blocks of all sizes in a table, gives every third one back (every sixth by the thread after it), and loses some. Then
 * nothing changes: "ready KEPT_BLOCKS KEPT_BYTES LOST_BLOCKS LOST_BYTES", by what the allocator can put into each, whose names begin with PREFIX. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define ALLOC NAMED(PREFIX, malloc)
#define FREE NAMED(PREFIX, free)
#define USABLE NAMED(PREFIX, USABLE_NAME)

void *ALLOC(size_t n);
void FREE(void *block);
size_t USABLE(void *block);

enum { N_BLOCKS = 6000, N_LOST = 500, MAX_THREADS = 8 };

static pthread_barrier_t step;
static void *blocks[MAX_THREADS][N_BLOCKS];
static unsigned n_threads;
static uint64_t lost_bytes[MAX_THREADS];

static size_t draw(unsigned *seed) {
        unsigned kind;

        *seed = *seed * 1103515245 + 12345;
        kind = *seed / 65536;
        *seed = *seed * 1103515245 + 12345;
        return 1 + (*seed >> 8) % (kind % 200 == 0 ? 3000000 : kind % 10 == 0 ? 40000 : 500);
}

/* What an allocator left in a block may be the address of another. */
__attribute__((noinline)) static void *alloc(unsigned *seed) {
        void *block = ALLOC(draw(seed));

        memset(block, 7, USABLE(block));
        return block;
}

__attribute__((noinline)) static void lose(unsigned thread, unsigned *seed) {
        lost_bytes[thread] += USABLE(alloc(seed));
}

__attribute__((noinline)) static void fill(unsigned thread) {
        unsigned seed = thread + 1;

        for (size_t i = 0; i < N_BLOCKS; i++) {
                blocks[thread][i] = alloc(&seed);
                if (i < N_LOST)
                        lose(thread, &seed);
        }
        for (size_t i = 0; i < N_BLOCKS; i += 6) {
                FREE(blocks[thread][i]);
                blocks[thread][i] = NULL;
        }
}

__attribute__((noinline)) static void release_other(unsigned thread) {
        for (size_t i = 3; i < N_BLOCKS; i += 6) {
                FREE(blocks[thread][i]);
                blocks[thread][i] = NULL;
        }
}

__attribute__((noinline)) static void scrub(void) {
        volatile char zeros[65536];

        memset((char *)zeros, 0, sizeof(zeros));
}

static void *run(void *arg) {
        unsigned thread = (unsigned)(uintptr_t)arg;

        fill(thread);
        pthread_barrier_wait(&step);
        release_other((thread + 1) % n_threads);
        scrub();
        pthread_barrier_wait(&step);
        for (;;)
                pause();
        return NULL;
}

int main(int argc, char **argv) {
        uint64_t n_kept = 0, kept_bytes = 0, lost = 0;
        pthread_t thread;

        n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
        if (n_threads < 1 || n_threads > MAX_THREADS)
                return 2;
        pthread_barrier_init(&step, NULL, n_threads + 1);
        for (unsigned i = 0; i < n_threads; i++)
                if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)i))
                        return 1;
        pthread_barrier_wait(&step);
        pthread_barrier_wait(&step);
        for (unsigned i = 0; i < n_threads; i++) {
                lost += lost_bytes[i];
                for (size_t k = 0; k < N_BLOCKS; k++)
                        if (blocks[i][k]) {
                                n_kept++;
                                kept_bytes += USABLE(blocks[i][k]);
                        }
        }
        scrub();
        printf("ready %ju %ju %u %ju\n", (uintmax_t)n_kept, (uintmax_t)kept_bytes,
               n_threads * N_LOST, (uintmax_t)lost);
        fflush(stdout);
        for (;;)
                pause();
}
