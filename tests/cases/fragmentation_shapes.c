/* SPDX-License-Identifier: MIT */
/* Heaps whose free memory is known, and who keeps it: fragmentation_shapes checkerboard|arenas|pinned_top. Prints free bytes and the bytes that one function
 * keeps, then waits for a line. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum {
        N_SQUARES = 40000,
        SQUARE_BYTES = 488,
        N_THREADS = 4,
        N_BURST = 4000,
        BURST_BYTES = 2040,
        N_TOP = 12000,
        TOP_BYTES = 2040
};

static void *squares[N_SQUARES], *top[N_TOP];
static pthread_barrier_t all_have, all_freed, end;

static NOINLINE void *filled(size_t size_bytes) {
        void *p = malloc(size_bytes);

        memset(p, 1, size_bytes);
        return p;
}

static void tell(unsigned long free_bytes, unsigned long kept_bytes) {
        char text[64];
        int n = snprintf(text, sizeof(text), "%lu %lu\n", free_bytes, kept_bytes);

        if (write(1, text, (size_t)n) != n || read(0, text, 1) < 0)
                _exit(1);
}

/* ---- every other block of one size: no page is pinned by little, and none is free --------------- */

static NOINLINE void *cache_entry(void) {
        void *p = malloc(SQUARE_BYTES);

        memset(p, 1, SQUARE_BYTES);
        return p;
}

static NOINLINE void *request_buffer(void) {
        void *p = malloc(SQUARE_BYTES);

        memset(p, 1, SQUARE_BYTES);
        return p;
}

static void checkerboard(void) {
        for (int i = 0; i < N_SQUARES; i++)
                squares[i] = i % 2 ? request_buffer() : cache_entry();
        for (int i = 1; i < N_SQUARES; i += 2)
                free(squares[i]);
        tell(N_SQUARES / 2 * (SQUARE_BYTES + 8ul), N_SQUARES / 2 * (SQUARE_BYTES + 8ul));
}

/* ---- arenas of threads after a burst: what each keeps lies below its last live block -------------- */

static NOINLINE void *thread_state(void) {
        void *p = malloc(64);

        memset(p, 1, 64);
        return p;
}

static void *work(void *unused) {
        static __thread void *burst[N_BURST];
        void *state;

        for (int i = 0; i < N_BURST; i++)
                burst[i] = filled(BURST_BYTES);
        state = thread_state();
        pthread_barrier_wait(&all_have);
        for (int i = 0; i < N_BURST; i++)
                free(burst[i]);
        pthread_barrier_wait(&all_freed);
        pthread_barrier_wait(&end);
        free(state);
        return unused;
}

static void arenas(void) {
        pthread_t threads[N_THREADS];

        pthread_barrier_init(&all_have, NULL, N_THREADS);
        pthread_barrier_init(&all_freed, NULL, N_THREADS + 1);
        pthread_barrier_init(&end, NULL, N_THREADS + 1);
        for (int i = 0; i < N_THREADS; i++)
                pthread_create(&threads[i], NULL, work, NULL);
        pthread_barrier_wait(&all_freed);
        tell(N_THREADS * N_BURST * (BURST_BYTES + 8ul), N_THREADS * N_BURST * (BURST_BYTES + 8ul));
        pthread_barrier_wait(&end);
        for (int i = 0; i < N_THREADS; i++)
                pthread_join(threads[i], NULL);
}

/* ---- a heap that could be trimmed, if one block did not lie at its top --------------------------- */

static NOINLINE void *last_word(void) {
        void *p = malloc(200);

        memset(p, 1, 200);
        return p;
}

static void pinned_top(void) {
        for (int i = 0; i < N_TOP; i++)
                top[i] = filled(TOP_BYTES);
        squares[0] = last_word();
        for (int i = 0; i < N_TOP; i++)
                free(top[i]);
        tell(N_TOP * (TOP_BYTES + 8ul), N_TOP * (TOP_BYTES + 8ul));
}

int main(int argc, char **argv) {
        const char *shape = argc > 1 ? argv[1] : "";

        if (strcmp(shape, "checkerboard") == 0)
                checkerboard();
        else if (strcmp(shape, "arenas") == 0)
                arenas();
        else if (strcmp(shape, "pinned_top") == 0)
                pinned_top();
        else
                return 2;
        return 0;
}
