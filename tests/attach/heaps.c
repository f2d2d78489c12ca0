/* SPDX-License-Identifier: MIT */
/* heaps N_THREADS [busy]: threads with blocks of all sizes, each second one released, by whom it was allocated or by another; one more has ended. Then nothing
 * changes any more, or everything all the time (busy). "ready PID USED_BYTES HELD_BYTES" as its jemalloc says, under names that begin with PREFIX; with MIMALLOC
 * as it knows itself, HELD_BYTES being 0. With OWN it has itself read, by src/attach: "ok N_ARENAS", or "ok N_SEGMENTS", or what differs. */
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
#define CTL NAMED(PREFIX, mallctl)

void *ALLOC(size_t n);
void FREE(void *block);
#ifdef MIMALLOC
size_t mi_usable_size(const void *block);
#else
int CTL(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
#endif

enum { N_BLOCKS = 4000, MAX_THREADS = 64 };

static pthread_barrier_t all_there;
static void *blocks[MAX_THREADS + 2][N_BLOCKS];
static int is_busy;

static size_t draw(unsigned *seed) {
        unsigned kind;

        *seed = *seed * 1103515245 + 12345;
        kind = *seed / 65536;
        *seed = *seed * 1103515245 + 12345;
        return 1 + (*seed >> 8) % (kind % 100 == 0 ? 3000000 : kind % 10 == 0 ? 40000 : 500);
}

static void fill(unsigned thread) {
        unsigned seed = thread + 1;

        for (size_t i = 0; i < N_BLOCKS; i++)
                blocks[thread][i] = ALLOC(draw(&seed));
        for (size_t i = 0; i < N_BLOCKS; i += 2)
                FREE(blocks[thread][i]);
}

static void *end_soon(void *arg) {
        fill((unsigned)(uintptr_t)arg);
        return NULL;
}

static void *run(void *arg) {
        unsigned thread = (unsigned)(uintptr_t)arg, seed = thread;

        fill(thread);
        pthread_barrier_wait(&all_there);
        while (is_busy) {
                size_t i = (seed >> 8) % (N_BLOCKS / 2) * 2 + 1;

                FREE(blocks[thread][i]);
                blocks[thread][i] = ALLOC(draw(&seed));
        }
        pause();
        return NULL;
}

#ifdef MIMALLOC
static void release_others(unsigned n_threads) { /* its owner takes it back when it needs it */
        (void)n_threads;
}

static uint64_t used_bytes_of(const void *large) {
        uint64_t sum = mi_usable_size(large);

        for (size_t thread = 0; thread < MAX_THREADS + 2; thread++)
                for (size_t i = 1; i < N_BLOCKS; i += 2)
                        sum += blocks[thread][i] ? mi_usable_size(blocks[thread][i]) : 0;
        return sum;
}

static uint64_t held_bytes_of(void) {
        return 0;
}
#else
static void release_others(unsigned n_threads) {
        for (size_t i = 1; n_threads && i < N_BLOCKS / 4; i += 2)
                FREE(blocks[1][i]);
}

static uint64_t figure(const char *name) {
        size_t value = 0, n_bytes = sizeof(value);

        return CTL(name, &value, &n_bytes, NULL, 0) ? 0 : value;
}

static uint64_t used_bytes_of(const void *large) {
        uint64_t epoch = 1;

        (void)large;
        CTL("epoch", NULL, NULL, &epoch, sizeof(epoch));
        return figure("stats.allocated");
}

static uint64_t held_bytes_of(void) {
        return figure("stats.active");
}
#endif

#ifdef OWN
#include "attach/jemalloc.h"
#include "attach/mimalloc.h"

static struct memory_span spans[1024];
static char maps[1 << 18];

static bool read_own(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        (void)ctx;
        memcpy(ret, (const void *)addr, n_bytes);
        return true;
}

static size_t read_spans(void) {
        FILE *f = fopen("/proc/self/maps", "re");
        unsigned long begin, end;
        char rights[8], path[256];
        size_t n = 0;

        maps[fread(maps, 1, sizeof(maps) - 1, f)] = '\0';
        fclose(f);
        for (char *line = maps, *next; (next = strchr(line, '\n')); line = next + 1) {
                *next = path[0] = '\0';
                if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &begin, &end, rights, path) >=
                            3 &&
                    strncmp(rights, "rw", 2) == 0 && (path[0] == '\0' || path[0] == '[') &&
                    n < 1024)
                        spans[n++] = (struct memory_span){begin, end};
        }
        return n;
}

#ifdef MIMALLOC
#define FOUND mimalloc_found
#define READ mimalloc_read
#define N_FOUND n_segments
#else
#define FOUND jemalloc_found
#define READ jemalloc_read
#define N_FOUND n_arenas
#endif

extern char __data_start[], _end[];

static void tell(uint64_t used_bytes, uint64_t held_bytes) {
        const struct memory memory = {.read = read_own, .spans = spans, .n_spans = read_spans()};
        const uint64_t *data = (const uint64_t *)(((uintptr_t)__data_start + 7) & ~(uintptr_t)7);
        struct FOUND found;

        if (!READ(&memory, data, (size_t)((uint64_t *)_end - data), &found))
                puts("not recognised");
        else if (found.used_bytes != used_bytes || (held_bytes && found.held_bytes != held_bytes))
                printf("used %zu, said %zu; held %zu, said %zu\n", (size_t)found.used_bytes,
                       (size_t)used_bytes, (size_t)found.held_bytes, (size_t)held_bytes);
        else
                printf("ok %u\n", found.N_FOUND);
        exit(0);
}
#else
/* Without stdio, which allocates. */
static void tell(uint64_t used_bytes, uint64_t held_bytes) {
        char line[128];
        int n = snprintf(line, sizeof(line), "ready %d %llu %llu\n", (int)getpid(),
                         (unsigned long long)used_bytes, (unsigned long long)held_bytes);

        if (write(1, line, (size_t)n) != n)
                exit(1);
}
#endif

int main(int argc, char **argv) {
        unsigned n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
        uint64_t used_bytes;
        pthread_t thread;
        void *large;
        char byte;

        if (n_threads > MAX_THREADS)
                return 2;
        is_busy = argc > 2 && strcmp(argv[2], "busy") == 0;
        pthread_barrier_init(&all_there, NULL, n_threads + 1);
        if (pthread_create(&thread, NULL, end_soon, (void *)(uintptr_t)(n_threads + 1)) ||
            pthread_join(thread, NULL))
                return 1;
        for (unsigned i = 0; i < n_threads; i++)
                if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)(i + 1)))
                        return 1;
        fill(0);
        pthread_barrier_wait(&all_there);
        if (!is_busy)
                release_others(n_threads);
        large = ALLOC(40 << 20);
        used_bytes = is_busy ? 0 : used_bytes_of(large);
        tell(used_bytes, held_bytes_of());
        return read(0, &byte, 1) < 0;
}
