/* SPDX-License-Identifier: MIT */
/* Nanoseconds per walk of the target-side unwinder, by depth.
 *
 *     bench-unwind [WALKS]
 *
 *  fresh       nothing remembered: every frame is stepped, rows are in the thread's cache
 *  same site   the same call site again: everything but the innermost frame is re-validated
 *  call tree   a random walk over a call tree: what changed since the last walk is stepped
 *  cold row    one row computed from the CFI of this program */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "unwind/cfi.h"
#include "unwind/object.h"
#include "unwind/unwind.h"

enum { N_ROUNDS = 20 };
enum mode { MODE_FRESH, MODE_SAME, MODE_TREE };

static struct unwind_walker *walker;
static uint64_t n_walks = 20000;     /* in a round */
static uint64_t sum_kept, sum_depth; /* also keeps the walks from being optimised away */
static uint64_t rng = 88172645463325252u;
static enum mode mode;

static void *map_pages(size_t size_bytes) {
        void *p =
                mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

static uint32_t random_below(uint32_t n) {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        return (uint32_t)((rng >> 20) % n);
}

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void hook(void) {
        struct unwind_regs regs;
        struct unwind_delta d;

        UNWIND_HERE(&regs);
        if (mode == MODE_FRESH)
                unwind_forget(walker);
        unwind_walk(walker, &regs, &d);
        sum_kept += d.n_kept;
        sum_depth += d.depth;
}

static uint64_t spent_ns, n_done;

/* All walks from one place at the bottom of the recursion. */
__attribute__((noinline)) static void repeat(void) {
        uint64_t begin_ns = now_ns();

        for (uint64_t i = 0; i < n_walks; i++)
                hook();
        spent_ns += now_ns() - begin_ns;
        n_done += n_walks;
}

/* Up and down around the depth: n_left is what remains of this visit. */
static int64_t n_left;

static long node_a(int depth, int down_to);
static long node_b(int depth, int down_to);
static long node_c(int depth, int down_to);
static long node_d(int depth, int down_to);

static long (*const nodes[4])(int, int) = {node_a, node_b, node_c, node_d};

static inline __attribute__((always_inline)) long visit(int depth, int down_to) {
        long r = 0;

        if (depth == 0 && mode != MODE_TREE) {
                repeat();
                return 1;
        }
        if (depth > 0)
                return nodes[depth & 3](depth - 1, down_to) + 1;
        while (n_left > 0 && r < 4) {
                uint32_t deeper = random_below(4);

                hook();
                n_left--;
                r++;
                if (deeper > 0 && down_to < 4)
                        r += nodes[deeper](0, down_to + 1);
        }
        return r;
}

/* Four frames of different sizes. */
#define NODE_BODY(pad_bytes)                                                                       \
        volatile char pad[pad_bytes];                                                              \
                                                                                                   \
        pad[0] = (char)depth;                                                                      \
        return visit(depth, down_to) + pad[0]

__attribute__((noinline)) static long node_a(int depth, int down_to) {
        NODE_BODY(16);
}

__attribute__((noinline)) static long node_b(int depth, int down_to) {
        NODE_BODY(48);
}

__attribute__((noinline)) static long node_c(int depth, int down_to) {
        NODE_BODY(96);
}

__attribute__((noinline)) static long node_d(int depth, int down_to) {
        NODE_BODY(160);
}

static double measure_once(enum mode m, int depth) {
        uint64_t begin_ns;

        mode = m;
        spent_ns = n_done = sum_kept = sum_depth = 0;
        if (m != MODE_TREE) {
                nodes[depth & 3](depth, 0);
                return (double)spent_ns / (double)n_done;
        }
        begin_ns = now_ns();
        n_left = (int64_t)n_walks;
        while (n_left > 0)
                nodes[depth & 3](depth, 0);
        return (double)(now_ns() - begin_ns) / (double)n_walks;
}

/* The best of some rounds: the others met an interruption. */
static double measure(enum mode m, int depth) {
        double best = measure_once(m, depth);

        for (int i = 1; i < N_ROUNDS; i++) {
                double ns = measure_once(m, depth);

                best = ns < best ? ns : best;
        }
        return best;
}

static double measure_cold(void) {
        struct cfi_answer a;
        struct object o;
        uint64_t key = (uint64_t)measure_cold + 40, sum = 0;
        uint64_t begin_ns = now_ns();

        for (int i = 0; i < 20000; i++) {
                if (!object_find(key, &o) || cfi_find(&o.image, key, &a) < 0)
                        return -1;
                sum += a.row;
        }
        sum_kept = sum;
        return (double)(now_ns() - begin_ns) / 20000;
}

int main(int argc, char **argv) {
        static const int depths[] = {8, 16, 32, 64, 128};
        int n_around;
        struct unwind_env env = {
                .map_pages = map_pages,
                .find_object = (void *)_dl_find_object,
                .vdso_begin = getauxval(AT_SYSINFO_EHDR),
                .main_phdrs = getauxval(AT_PHDR),
                .n_main_phdrs = getauxval(AT_PHNUM),
                .main_stack_end = getauxval(AT_RANDOM),
        };

        if (argc > 1)
                n_walks = strtoull(argv[1], NULL, 0);
        walker = map_pages(unwind_walker_size());
        if (!walker || n_walks == 0 || unwind_init(&env) < 0)
                return 1;
        unwind_walker_init(walker, NULL);
        measure(MODE_FRESH, 0); /* also warms up */
        n_around = (int)(sum_depth / n_done);
        printf("ns per walk %8s %10s %10s\n", "fresh", "same site", "call tree");
        for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
                int depth = depths[i] - n_around;
                double fresh = measure(MODE_FRESH, depth);
                double same = measure(MODE_SAME, depth);

                if (sum_depth != n_done * (uint64_t)depths[i])
                        return 1;
                printf("depth %-5d %8.1f %10.1f %10.1f\n", depths[i], fresh, same,
                       measure(MODE_TREE, depth));
        }
        printf("cold row    %8.1f\n", measure_cold());
        return 0;
}
