/* SPDX-License-Identifier: MIT */
/* A spike far above the steady level.
 *
 *   one_block, many_blocks, threads, twice_over    a short spike
 *   plateau, periodic, bump, hill    high for long, again and again, or not high */
#include "shape.h"

static void **base, **spike;
static long n_base, base_bytes, spike_bytes, block_bytes, depth;
static long from_step, to_step;
static unsigned long spiked_bytes, spiked_blocks;

NAMED static void load_base(void) {
        long left = base_bytes;

        base = (void **)calloc((size_t)base_bytes / 256 + 1, sizeof(void *));
        MUST(base);
        while (left > 0) {
                size_t size = between(256, 6000);

                MUST(base[n_base++] = malloc(size));
                left -= (long)size;
        }
}

NAMED static void use_base(void) {
        for (int k = 0; k < 5; k++) {
                long at = (long)chance((unsigned long)n_base);

                free(base[at]);
                MUST(base[at] = malloc(between(256, 6000)));
        }
}

NAMED static void *rebuild_index(long bytes) {
        return malloc((size_t)bytes);
}

NAMED static void export_rows(long n) {
        for (long k = 0; k < n; k++)
                MUST(spike[k] = malloc((size_t)block_bytes));
}

static void spike_one(long i) {
        if (i == from_step) {
                MUST(spike[0] = rebuild_index(spike_bytes));
                spiked_bytes = (unsigned long)spike_bytes;
                spiked_blocks = 1;
        }
        if (i == to_step)
                free(spike[0]);
}

static void spike_many(long i) {
        long n = spike_bytes / block_bytes;

        if (i == from_step) {
                export_rows(n);
                spiked_bytes = (unsigned long)(n * block_bytes);
                spiked_blocks = (unsigned long)n;
        }
        if (i == to_step)
                while (n)
                        free(spike[--n]);
}

static pthread_barrier_t
        all_have_parts; /* on a busy machine one would be done before the last begins */

NAMED static void *sort_part(void *arg) {
        void *part = malloc((size_t)spike_bytes / 4);

        (void)arg;
        MUST(part);
        pthread_barrier_wait(&all_have_parts);
        sleep_until(shape_begin_ns + shape_span_ns / (uint64_t)shape_n_steps * (uint64_t)to_step);
        free(part);
        return NULL;
}

static pthread_t sorters[4];

static void spike_in_threads(long i) {
        if (i == from_step) {
                pthread_barrier_init(&all_have_parts, NULL, 4);
                for (int k = 0; k < 4; k++)
                        MUST(pthread_create(&sorters[k], NULL, sort_part, NULL) == 0);
                spiked_bytes = (unsigned long)(spike_bytes / 4 * 4);
                spiked_blocks = 4;
        }
        if (i == to_step)
                for (int k = 0; k < 4; k++)
                        pthread_join(sorters[k], NULL);
}

/* Read as text, then parsed while the text is still there. */
NAMED static void import_file(long i) {
        if (i == from_step) {
                MUST(spike[0] = malloc((size_t)spike_bytes / 2));
                MUST(spike[1] = malloc((size_t)spike_bytes / 2));
                spiked_bytes = (unsigned long)(spike_bytes / 2 * 2);
                spiked_blocks = 2;
        }
        if (i == to_step) {
                free(spike[0]);
                free(spike[1]);
        }
}

/* ---- no spikes ------------------------------------------------------------------------------- */

static void plateau(long i) {
        if (i == from_step)
                MUST(spike[0] = rebuild_index(spike_bytes));
}

static long period, high;

static void periodic(long i) {
        if (i % period == 0)
                MUST(spike[0] = rebuild_index(spike_bytes));
        if (i % period == high) {
                free(spike[0]);
                spike[0] = NULL;
        }
}

/* Up over the first half, down over the second. */
static void hill(long i) {
        static long n;
        long all = spike_bytes / block_bytes, half = shape_n_steps / 2;
        long want = all * (i < half ? i : shape_n_steps - 1 - i) / half;

        for (; n < want; n++)
                MUST(spike[n] = rebuild_index(block_bytes));
        while (n > want)
                free(spike[--n]);
        if (i == shape_n_steps - 1)
                while (n)
                        free(spike[--n]);
}

int main(int argc, char **argv) {
        const char *culprit = "rebuild_index";
        step_fn step = spike_one;

        shape_start(argc, argv);
        base_bytes = param("base_bytes");
        spike_bytes = param("spike_bytes");
        block_bytes = param("block_bytes");
        depth = param("depth");
        from_step = shape_n_steps * param("from_pct") / 100;
        to_step = from_step + 1 + shape_n_steps * param("length_pct") / 100;
        period = param("period");
        high = period * param("high_pct") / 100;
        spike = (void **)calloc((size_t)(spike_bytes / block_bytes + 2), sizeof(void *));
        MUST(spike);
        load_base();
        if (shape_is("many_blocks")) {
                step = spike_many;
                culprit = "export_rows";
        } else if (shape_is("threads")) {
                step = spike_in_threads;
                culprit = "sort_part";
        } else if (shape_is("twice_over")) {
                step = import_file;
                culprit = "import_file";
        } else if (shape_is("plateau")) {
                step = plateau;
        } else if (shape_is("periodic")) {
                step = periodic;
        } else if (shape_is("hill")) {
                step = hill;
        } else if (!shape_is("one_block") && !shape_is("bump")) {
                return 96;
        }
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                use_base();
                relay(depth, step, i);
        }
        if (shape_is("plateau") || shape_is("periodic"))
                free(spike[0]);
        while (n_base)
                free(base[--n_base]);
        free(base);
        free(spike);
        tell_text("culprit", culprit);
        tell("spike_bytes", spiked_bytes);
        tell("spike_blocks", spiked_blocks);
        shape_end();
        return 0;
}
