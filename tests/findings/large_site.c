/* SPDX-License-Identifier: MIT */
/* Large equal blocks from one place.
 *
 *   clients, tiles, workers    each has so much
 *   one, varied, tiny, small_share   do not */
#include "shape.h"

static void **units;
static long n_units, unit_bytes, n_alive, most_alive;

NAMED static void *client_new(void) {
        n_alive++;
        most_alive = n_alive > most_alive ? n_alive : most_alive;
        return calloc(1, (size_t)unit_bytes);
}

NAMED static void *tile_new(void) {
        void *tile = NULL;

        n_alive++;
        most_alive = n_alive > most_alive ? n_alive : most_alive;
        MUST(posix_memalign(&tile, 64, (size_t)unit_bytes) == 0);
        return tile;
}

NAMED static void *varied_new(void) {
        return malloc(1 + chance((unsigned long)unit_bytes * 2));
}

/* Comes up in the first part, stays with some coming and going, and is gone at the end. */
static void serve(void *(*make)(void), long up_pct) {
        long up_steps = shape_n_steps * up_pct / 100 + 1, n = 0;

        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                for (; n < n_units && n <= n_units * i / up_steps; n++)
                        MUST(units[n] = make());
                if (i > up_steps) {
                        long at = (long)chance((unsigned long)n);

                        free(units[at]);
                        n_alive--;
                        MUST(units[at] = make());
                }
        }
        while (n)
                free(units[--n]);
}

static pthread_barrier_t all_there;

NAMED static void *scratch_buffer(void) {
        return malloc((size_t)unit_bytes);
}

static void *worker(void *arg) {
        void *buffer = scratch_buffer();

        (void)arg;
        MUST(buffer);
        pthread_barrier_wait(&all_there);
        for (long i = 0; i < shape_n_steps; i += 10)
                pace(i);
        free(buffer);
        return NULL;
}

static void serve_in_threads(void) {
        pthread_t threads[64];

        MUST(n_units <= 64);
        pthread_barrier_init(&all_there, NULL, (unsigned)n_units);
        for (long i = 0; i < n_units; i++)
                MUST(pthread_create(&threads[i], NULL, worker, NULL) == 0);
        for (long i = 0; i < shape_n_steps; i++)
                shape_step(i);
        for (long i = 0; i < n_units; i++)
                pthread_join(threads[i], NULL);
        most_alive = n_units;
}

int main(int argc, char **argv) {
        const char *culprit = "client_new";

        shape_start(argc, argv);
        n_units = param("units");
        unit_bytes = param("unit_bytes");
        units = (void **)calloc((size_t)n_units, sizeof(void *));
        MUST(units);
        if (shape_is("clients") || shape_is("tiny") || shape_is("small_share") || shape_is("one")) {
                serve(client_new, param("up_pct"));
        } else if (shape_is("tiles")) {
                serve(tile_new, param("up_pct"));
                culprit = "tile_new";
        } else if (shape_is("workers")) {
                serve_in_threads();
                culprit = "scratch_buffer";
        } else if (shape_is("varied")) {
                serve(varied_new, param("up_pct"));
        } else {
                return 96;
        }
        tell_text("culprit", culprit);
        tell("unit_bytes", (unsigned long)unit_bytes);
        tell("alive", (unsigned long)most_alive);
        free(units);
        shape_end();
        return 0;
}
