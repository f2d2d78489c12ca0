/* SPDX-License-Identifier: MIT */
/* Buffers that are made larger again and again. `copied` is the sum of the sizes before each growth: what a copy of the whole moves.
 *
 *   creeping, doubling, replaced, shared   grow
 *   right_size, shrinking, rare, other_blocks   do not, or seldom */
#include "shape.h"

static long first, last, grow_bytes, n_buffers, depth;
static unsigned long copied, n_growths;

static void growth(size_t old_size) {
        copied += old_size;
        n_growths++;
}

/* realloc by a few bytes each time */
NAMED static void append_record(long i) {
        size_t size = (size_t)first;
        char *buffer = (char *)malloc(size);

        (void)i;
        MUST(buffer);
        while (size < (size_t)last) {
                growth(size);
                size += (size_t)grow_bytes;
                buffer = (char *)realloc(buffer, size);
                MUST(buffer);
                buffer[size - 1] = 1;
        }
        free(buffer);
}

NAMED static void read_all(long i) {
        size_t size = (size_t)first;
        char *buffer = (char *)malloc(size);

        (void)i;
        MUST(buffer);
        while (size < (size_t)last) {
                growth(size);
                size *= 2;
                buffer = (char *)realloc(buffer, size);
                MUST(buffer);
                buffer[size - 1] = 1;
        }
        free(buffer);
}

/* The same by hand: a larger block, a copy, the old one released. */
NAMED static void grow_by_hand(long i) {
        size_t size = 0;
        char *buffer = NULL, *larger;

        (void)i;
        while (size < (size_t)last) {
                size_t larger_size = size ? size * 2 : (size_t)first;

                larger = (char *)malloc(larger_size);
                MUST(larger);
                if (size) {
                        growth(size);
                        memcpy(larger, buffer, size);
                }
                free(buffer);
                buffer = larger;
                size = larger_size;
        }
        free(buffer);
}

static char *logs[64];
static size_t log_sizes[64];

/* Many buffers that creep in turns, over the whole run. */
NAMED static void append_log(long i) {
        for (long k = 0; k < n_buffers; k++) {
                if (log_sizes[k])
                        growth(log_sizes[k]);
                if (log_sizes[k] > (size_t)last) {
                        copied -= log_sizes[k];
                        n_growths--;
                        free(logs[k]);
                        logs[k] = NULL;
                        log_sizes[k] = 0;
                }
                log_sizes[k] += (size_t)(first + grow_bytes);
                logs[k] = (char *)realloc(logs[k], log_sizes[k]);
                MUST(logs[k]);
        }
        (void)i;
}

/* ---- not growing ----------------------------------------------------------------------------- */

NAMED static void right_size(long i) {
        char *buffer = (char *)malloc((size_t)last);

        (void)i;
        MUST(buffer);
        for (long k = 0; k < last; k += 512)
                buffer[k] = 1;
        free(buffer);
}

NAMED static void shrink(long i) {
        char *buffer = (char *)malloc((size_t)last);

        (void)i;
        MUST(buffer);
        for (long size = last; size > first; size = size / 2)
                MUST(buffer = (char *)realloc(buffer, (size_t)size / 2 + 1));
        free(buffer);
}

/* A buffer that has grown is used from then on. */
NAMED static void grow_seldom(long i) {
        size_t need = (size_t)(last / 4 + (long)chance((unsigned long)last));

        (void)i;
        if (log_sizes[0] < need) {
                log_sizes[0] = need * 2;
                MUST(logs[0] = (char *)realloc(logs[0], log_sizes[0]));
        }
        memset(logs[0], 1, need);
}

/* One after the other, each larger, but released long after: nothing is replaced. */
NAMED static void other_blocks(long i) {
        long k = i % 16;

        free(logs[k]);
        MUST(logs[k] = (char *)malloc((size_t)first + chance((unsigned long)last)));
}

static step_fn step_of(const char **ret_culprit) {
        static const struct {
                const char *shape, *culprit;
                step_fn step;
        } all[] = {
                {"creeping", "append_record", append_record},
                {"doubling", "read_all", read_all},
                {"replaced", "grow_by_hand", grow_by_hand},
                {"shared", "append_log", append_log},
                {"right_size", "right_size", right_size},
                {"shrinking", "shrink", shrink},
                {"rare", "grow_seldom", grow_seldom},
                {"other_blocks", "other_blocks", other_blocks},
        };

        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
                if (shape_is(all[i].shape)) {
                        *ret_culprit = all[i].culprit;
                        return all[i].step;
                }
        _exit(96);
}

int main(int argc, char **argv) {
        const char *culprit;
        step_fn step;

        shape_start(argc, argv);
        first = param("first");
        last = param("last");
        grow_bytes = param("grow_bytes");
        n_buffers = param("buffers");
        depth = param("depth");
        step = step_of(&culprit);
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
        tell_text("culprit", culprit);
        tell("copied", copied);
        tell("growths", n_growths);
        for (int k = 0; k < 64; k++)
                free(logs[k]);
        shape_end();
        return 0;
}
