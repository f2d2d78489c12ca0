/* SPDX-License-Identifier: MIT */
/* Blocks that are released at once, and blocks that only seem to be.
 *
 *   format, resized, threads, recursive    released before the thread allocates again
 *   few, ring, handed_over, rare   not, or too few to matter */
#include "shape.h"

static long size, per_step, depth, rare_in;
static unsigned long n_temporary;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(unsigned long n) {
        pthread_mutex_lock(&lock);
        n_temporary += n;
        pthread_mutex_unlock(&lock);
}

static size_t any_size(uint64_t *state) {
        return (size_t)size / 2 + chance_next(state) % (unsigned long)size;
}

static void fill(char *block, size_t n) {
        memset(block, 'x', n);
        __asm__ volatile("" : : "r"(block) : "memory");
}

NAMED static void format_line(uint64_t *state) {
        size_t n = any_size(state);
        char *line = (char *)malloc(n);

        MUST(line);
        fill(line, n);
        free(line);
        count(1);
}

/* A block that realloc replaces at once is temporary, as is the one that replaces it. */
NAMED static void read_line(uint64_t *state) {
        size_t n = any_size(state);
        char *line = (char *)malloc(n);

        MUST(line);
        line = (char *)realloc(line, n * 2);
        MUST(line);
        fill(line, n * 2);
        free(line);
        count(2);
}

static void format_lines(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++)
                format_line(&shape_state);
}

static void read_lines(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++)
                read_line(&shape_state);
}

static void *format_in_thread(void *arg) {
        uint64_t state = (uint64_t)(uintptr_t)arg;

        for (long i = 0; i < shape_n_steps; i++) {
                pace(i);
                for (long k = 0; k < per_step; k++)
                        format_line(&state);
        }
        return NULL;
}

static void format_in_threads(long n) {
        pthread_t threads[8];

        for (long i = 0; i < n; i++)
                MUST(pthread_create(&threads[i], NULL, format_in_thread,
                                    (void *)(uintptr_t)(chance(1u << 30) + 1)) == 0);
        for (long i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
}

/* The same place on paths of different depth. */
static void format_deep(long i) {
        (void)i;
        format_line(&shape_state);
}

static void format_recursive(long i) {
        for (long k = 0; k < per_step; k++)
                relay((long)chance((unsigned long)depth + 1), format_deep, i);
}

/* ---- not so ---------------------------------------------------------------------------------- */

enum { N_RING = 16 };
static void *ring[N_RING];
static unsigned long ring_at;

/* The oldest goes when a new one comes. */
NAMED static void queue_line(void) {
        void *old = ring[ring_at % N_RING];

        MUST(ring[ring_at++ % N_RING] = malloc(any_size(&shape_state)));
        free(old);
}

static void queue_lines(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                queue_line();
                if (rare_in && chance((unsigned long)rare_in) == 0)
                        format_line(&shape_state);
        }
}

static void format_few(long i) {
        if (i % rare_in == 0)
                format_line(&shape_state);
}

static void *handed;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_over;

static void *releaser(void *arg) {
        (void)arg;
        pthread_mutex_lock(&lock);
        while (!is_over || handed) {
                free(handed);
                handed = NULL;
                pthread_cond_broadcast(&changed);
                if (!is_over)
                        pthread_cond_wait(&changed, &lock);
        }
        pthread_mutex_unlock(&lock);
        return NULL;
}

/* Released before its thread allocates again, but by another thread. */
NAMED static void hand_line(void) {
        void *line = malloc(any_size(&shape_state));

        MUST(line);
        pthread_mutex_lock(&lock);
        while (handed)
                pthread_cond_wait(&changed, &lock);
        handed = line;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
}

static void hand_lines(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++)
                hand_line();
}

static void work(step_fn step, long at_depth) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(at_depth, step, i);
        }
}

static void hand_over(void) {
        pthread_t thread;

        MUST(pthread_create(&thread, NULL, releaser, NULL) == 0);
        work(hand_lines, depth);
        pthread_mutex_lock(&lock);
        is_over = 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        rare_in = param("rare_in");
        if (shape_is("format"))
                work(format_lines, depth);
        else if (shape_is("resized"))
                work(read_lines, depth);
        else if (shape_is("threads"))
                format_in_threads(param("threads"));
        else if (shape_is("recursive"))
                work(format_recursive, 0);
        else if (shape_is("few"))
                work(format_few, depth);
        else if (shape_is("ring") || shape_is("rare"))
                work(queue_lines, depth);
        else if (shape_is("handed_over"))
                hand_over();
        else
                return 96;
        for (int i = 0; i < N_RING; i++)
                free(ring[i]);
        tell_text("culprit", shape_is("resized") ? "read_line" : "format_line");
        tell("temporary", n_temporary);
        shape_end();
        return 0;
}
