/* SPDX-License-Identifier: MIT */
/* Memory that is lost on the way, and memory that is rightly there at the end.
 *
 *   request, reload, thread, storm       lose blocks
 *   tables, cache, pool, given_back, orderly   do not */
#include "shape.h"

static long size, per_step, one_in, depth;
static unsigned long lost_bytes, lost_blocks;

static void lost(size_t bytes) {
        lost_bytes += bytes;
        lost_blocks++;
}

static void tell_lost(const char *culprit) {
        tell_text("culprit", culprit);
        tell("bytes", lost_bytes);
        tell("blocks", lost_blocks);
}

/* ---- losing ---------------------------------------------------------------------------------- */

/* The error path forgets the request. */
NAMED static void parse_request(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                size_t bytes = (size_t)size / 2 + chance((unsigned long)size);
                char *request = (char *)malloc(bytes), *reply;

                MUST(request);
                if (chance((unsigned long)one_in) == 0) {
                        lost(bytes);
                        continue;
                }
                reply = (char *)malloc(100);
                free(request);
                free(reply);
        }
}

static char *settings;

/* Reads its settings anew every now and then and forgets the old ones. */
NAMED static void reload_settings(long i) {
        if (i % one_in)
                return;
        if (settings)
                lost((size_t)size * 8);
        settings = (char *)malloc((size_t)size * 8);
        MUST(settings);
}

NAMED static char *thread_state(void) {
        return (char *)calloc(1, (size_t)size * 4);
}

static void *job(void *arg) {
        char *state = thread_state();
        char *scratch = (char *)malloc(300);

        MUST(state && scratch);
        free(scratch);
        if (arg)
                free(state);
        return NULL;
}

/* Every thread has a state; some end without releasing it. */
static void run_job(long i) {
        pthread_t thread;
        int is_lost = chance((unsigned long)one_in) == 0;

        (void)i;
        if (is_lost)
                lost((size_t)size * 4);
        MUST(pthread_create(&thread, NULL, job, is_lost ? NULL : &thread) == 0);
        pthread_join(thread, NULL);
}

static long storm_from, storm_to;

/* While connections are reset, their buffers are lost; before and after, none. */
NAMED static void read_connection(long i) {
        for (long k = 0; k < per_step; k++) {
                char *buffer = (char *)malloc((size_t)size), *answer;

                MUST(buffer);
                if (i >= storm_from && i < storm_to) {
                        lost((size_t)size);
                        continue;
                }
                answer = (char *)malloc(64);
                free(buffer);
                free(answer);
        }
}

static void work(step_fn step) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
}

/* ---- not losing ------------------------------------------------------------------------------ */

static void **slots;
static long n_slots;

NAMED static void *load_entry(void) {
        return malloc((size_t)size / 2 + chance((unsigned long)size));
}

NAMED static void load_tables(void) {
        slots = (void **)calloc((size_t)n_slots, sizeof(void *));
        MUST(slots);
        for (long i = 0; i < n_slots; i++)
                MUST(slots[i] = load_entry());
}

static void release_tables(void) {
        for (long i = 0; i < n_slots; i++)
                free(slots[i]);
        free(slots);
}

NAMED static void use_cache(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                long at = (long)chance((unsigned long)n_slots);

                free(slots[at]);
                MUST(slots[at] = load_entry());
        }
}

/* Blocks go back to a list and are used again; the list is there at the end. */
static void *free_list;

NAMED static void *pool_get(void) {
        void *block = free_list;

        if (!block)
                return malloc((size_t)size);
        free_list = *(void **)block;
        return block;
}

static void pool_put(void *block) {
        *(void **)block = free_list;
        free_list = block;
}

static void use_pool(long i) {
        void *taken[64];
        long n = 1 + (long)chance(i ? 60 : 64);

        for (long k = 0; k < n; k++)
                MUST(taken[k] = pool_get());
        while (n)
                pool_put(taken[--n]);
}

static void use_request(long i) {
        void *taken[8];

        (void)i;
        for (int k = 0; k < 8; k++)
                MUST(taken[k] = load_entry());
        for (int k = 0; k < 8; k++)
                free(taken[k]);
}

static void nothing(long i) {
        (void)i;
}

static void orderly_shapes(void) {
        n_slots = param("slots");
        load_tables();
        if (shape_is("tables"))
                work(nothing);
        else if (shape_is("cache"))
                work(use_cache);
        else if (shape_is("pool"))
                work(use_pool);
        else if (shape_is("given_back") || shape_is("orderly"))
                work(shape_is("orderly") ? use_request : use_cache);
        else
                _exit(96);
        if (shape_is("given_back") || shape_is("orderly"))
                release_tables();
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        one_in = param("one_in");
        depth = param("depth");
        if (shape_is("request")) {
                work(parse_request);
                tell_lost("parse_request");
        } else if (shape_is("reload")) {
                work(reload_settings);
                free(settings);
                tell_lost("reload_settings");
        } else if (shape_is("thread")) {
                work(run_job);
                tell_lost("thread_state");
        } else if (shape_is("storm")) {
                storm_from = shape_n_steps * param("storm_pct") / 100;
                storm_to = storm_from + shape_n_steps * param("storm_length_pct") / 100;
                work(read_connection);
                tell_lost("read_connection");
        } else {
                orderly_shapes();
        }
        shape_end();
        return 0;
}
