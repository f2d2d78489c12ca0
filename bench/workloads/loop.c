/* SPDX-License-Identifier: MIT */
/* malloc/free pairs at a given call depth, on any number of threads: a random walk over a call tree.
 *
 * Each step leaves a few frames (mostly 1 to 3, at most 6) and enters as many by other callers, so that stacks differ
 * mainly near the leaf: 3^6 paths, some taken more often than others, times 4 places in the leaf that allocate.
 * Each visit of a leaf makes 1 to 7 pairs, and every stack asks for all of 12 sizes from 24 to 904 bytes. A block lives
 * until its slot among the thread's live blocks comes up again.
 *
 * The sizes lie so far apart because heaptrack 1.4 runs out of memory otherwise: its hash of a size and a stack is
 * about 65 * size + stack, and its table doubles for as long as these sums meet. hostile.c minds nobody.
 *
 *   loop DEPTH THREADS PAIRS-PER-THREAD [LIVE-BLOCKS-PER-THREAD]
 *
 * DEPTH counts the frames of the tree, the leaf among them. Prints a sum that no profiler may change. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_THREADS_MAX = 2048, N_UP_MAX = 6 };

static uint32_t depth, n_live;
static uint64_t n_pairs;

struct walk {
        uint64_t rng;
        uint64_t n_left;   /* pairs */
        uint64_t sum;      /* of the sizes asked for, mixed with the path */
        uint32_t up_level; /* frames deeper than this return */
        void **live;
};

static uint32_t random_bits(struct walk *w) {
        w->rng ^= w->rng << 13;
        w->rng ^= w->rng >> 7;
        w->rng ^= w->rng << 17;
        return (uint32_t)(w->rng >> 16);
}

/* Keeps calls of the same function apart that the compiler would merge. */
#define APART(n) __asm__ volatile("/* " #n " */" ::: "memory")

static __attribute__((noinline)) void leaf(struct walk *w) {
        uint32_t bits = random_bits(w);
        uint32_t n_here = 1 + bits % 7,
                 n_up = 1 + (uint32_t)__builtin_ctz((bits >> 8) | 1u << N_UP_MAX);

        for (uint32_t i = 0; i < n_here && w->n_left; i++) {
                uint32_t r = random_bits(w);
                size_t size_bytes = 24 + 80 * ((r & 1023) * 12 >> 10);
                void **slot = &w->live[(uint64_t)(r >> 12) * n_live >> 20];
                volatile char *p;

                free(*slot);
                switch (r >> 10 & 3) {
                case 0:
                        p = malloc(size_bytes);
                        APART(0);
                        break;
                case 1:
                        p = malloc(size_bytes);
                        APART(1);
                        break;
                case 2:
                        p = malloc(size_bytes);
                        APART(2);
                        break;
                default: p = malloc(size_bytes); APART(3);
                }
                p[0] = 1;
                *slot = (void *)p;
                w->sum += size_bytes;
                w->n_left--;
        }
        n_up = n_up < N_UP_MAX ? n_up : N_UP_MAX;
        w->up_level = !w->n_left ? 0 : depth > n_up ? depth - n_up : 1;
}

static void node_a(struct walk *w, uint32_t level);
static void node_b(struct walk *w, uint32_t level);

/* Which of its three calls a frame takes: 60, 25 and 15 in a hundred where the walk comes back to, else the first. */
static inline uint32_t choose(struct walk *w, uint32_t level) {
        return level + N_UP_MAX < depth ? 0 : random_bits(w) % 100;
}

/* A frame stays until the walk leaves its level. */
#define NODE(name, next, locals)                                                                   \
        static __attribute__((noinline)) void name(struct walk *w, uint32_t level) {               \
                volatile char pad[locals];                                                         \
                                                                                                   \
                if (level == depth) {                                                              \
                        leaf(w);                                                                   \
                        return;                                                                    \
                }                                                                                  \
                pad[0] = (char)level;                                                              \
                do {                                                                               \
                        uint32_t r = choose(w, level);                                             \
                                                                                                   \
                        if (r < 60) {                                                              \
                                next(w, level + 1);                                                \
                                APART(0);                                                          \
                        } else if (r < 85) {                                                       \
                                next(w, level + 1);                                                \
                                APART(1);                                                          \
                        } else {                                                                   \
                                next(w, level + 1);                                                \
                                APART(2);                                                          \
                        }                                                                          \
                        w->sum += (uint64_t)pad[0] * (r & 3);                                      \
                } while (level <= w->up_level);                                                    \
        }

NODE(node_d, node_a, 144)
NODE(node_c, node_d, 80)
NODE(node_b, node_c, 48)
NODE(node_a, node_b, 16)

static void *work(void *arg) {
        struct walk w = {.rng = 88172645463325252u * (2 * (uintptr_t)arg + 1), .n_left = n_pairs};

        w.live = calloc(n_live, sizeof(*w.live));
        if (!w.live)
                abort();
        node_a(&w, 1);
        for (uint32_t i = 0; i < n_live; i++)
                free(w.live[i]);
        free(w.live);
        return (void *)(uintptr_t)w.sum;
}

/* The first thread only waits: all stacks that allocate start alike. */
static uint64_t work_on_threads(long n_threads) {
        static pthread_t threads[N_THREADS_MAX];
        uint64_t sum = 0;

        for (long i = 0; i < n_threads; i++)
                if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                        abort();
        for (long i = 0; i < n_threads; i++) {
                void *part;

                pthread_join(threads[i], &part);
                sum += (uint64_t)(uintptr_t)part;
        }
        return sum;
}

int main(int argc, char **argv) {
        long n_threads = argc > 2 ? atol(argv[2]) : 1;
        uint64_t sum;

        depth = (argc > 1 ? (uint32_t)atoi(argv[1]) : 16) - 1; /* the leaf is one more frame */
        n_pairs = argc > 3 ? (uint64_t)atoll(argv[3]) : 1000000;
        n_live = argc > 4 ? (uint32_t)atoi(argv[4]) : 64;
        if (depth < 1 || n_threads < 1 || n_threads > N_THREADS_MAX || !n_pairs || !n_live)
                return 2;
        if (n_threads == 1)
                sum = (uint64_t)(uintptr_t)work(NULL);
        else
                sum = work_on_threads(n_threads);
        printf("%llu\n", (unsigned long long)sum);
        return 0;
}
