/* SPDX-License-Identifier: MIT */
/* prior N_THREADS BLOCKS HOLES [HOW]: every thread allocates BLOCKS blocks of 16 to 2,000 bytes in an arena of its own and releases each HOLES-th (0: none);
 * then there are two blocks that are mappings. "ready PID LIVE_BYTES N_LIVE MAPPED_BYTES FREED_BYTES", as malloc rounds them, when all is there. HOW: what is
 * written over the main arena, where malloc does not look while nobody needs much. A byte on stdin ends it. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t n_blocks, n_holes;
static pthread_barrier_t all_there;
static _Atomic uint64_t live_bytes, n_live, freed_bytes;

static void fill(unsigned seed) {
        char **blocks = calloc(n_blocks, sizeof(*blocks));

        for (size_t i = 0; i < n_blocks; i++) {
                seed = seed * 1103515245 + 12345;
                blocks[i] = malloc(16 + seed / 65536 % 1985);
                blocks[i][0] = 1;
        }
        for (size_t i = 0; i < n_blocks; i++) {
                size_t n = malloc_usable_size(blocks[i]) + 8;

                if (n_holes && i % n_holes == 0) {
                        free(blocks[i]);
                        freed_bytes += n;
                } else {
                        live_bytes += n;
                        n_live++;
                }
        }
        live_bytes += malloc_usable_size(blocks) + 8; /* the table, unless it is a mapping */
        n_live++;
}

static void *run(void *arg) {
        fill((unsigned)(uintptr_t)arg);
        pthread_barrier_wait(&all_there);
        pause();
        return NULL;
}

/* A released chunk between others points at the arena's bins. */
static void spoil(const char *how) {
        char *volatile chunks[3];
        uint64_t arena;

        for (int i = 0; i < 3; i++)
                chunks[i] = malloc(5000);
        free(chunks[1]);
        memcpy(&arena, (void *)(uintptr_t)chunks[1], sizeof(arena));
        arena -= 96;
        if (!strcmp(how, "ring"))
                *(uint64_t *)(arena + 2160) = 0x41;
        else if (!strcmp(how, "bins"))
                *(uint64_t *)(arena + 112 + 16 * 120) = 0;
}

int main(int argc, char **argv) {
        unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
        char *large[2], byte;

        if (argc < 4)
                return 2;
        mallopt(M_MMAP_THRESHOLD, 64 << 20); /* tables are not mappings, whatever their size */
        n_blocks = strtoul(argv[2], NULL, 10);
        n_holes = strtoul(argv[3], NULL, 10);
        pthread_barrier_init(&all_there, NULL, n_threads + 1);
        for (unsigned i = 0; i < n_threads; i++) {
                pthread_t thread;

                pthread_create(&thread, NULL, run, (void *)(uintptr_t)(i + 7));
        }
        fill(1);
        pthread_barrier_wait(&all_there);
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
        for (int i = 0; i < 2; i++) {
                large[i] = malloc(((size_t)i + 2) << 20);
                large[i][0] = 1;
        }
        if (argc > 4)
                spoil(argv[4]);
        printf("ready %d %llu %llu %llu %llu\n", (int)getpid(), (unsigned long long)live_bytes,
               (unsigned long long)n_live,
               (unsigned long long)(malloc_usable_size(large[0]) + malloc_usable_size(large[1]) +
                                    32),
               (unsigned long long)freed_bytes);
        fflush(stdout);
        if (read(0, &byte, 1) < 0)
                return 1;
        return 0;
}
