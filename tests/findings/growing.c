/* SPDX-License-Identifier: MIT */
/* Memory that rises to the end, and memory that only looks so for a while.
 *
 *   list, clients, creeping, threads   rise
 *   plateau, sawtooth, queue, early, table, saturating, cache   do not */
#include "shape.h"

struct node {
        struct node *next;
};

static struct node *all;
static long size, per_step, warm_steps, depth, kept_pct;
static int is_torn_down;

/* ---- rising ---------------------------------------------------------------------------------- */

NAMED static void remember_request(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                struct node *n = (struct node *)malloc((size_t)size);

                MUST(n);
                n->next = all;
                all = n;
                grown(size, 1);
        }
}

/* Most connections are closed again; those kept rise. */
NAMED static void open_connection(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                struct node *n = (struct node *)malloc((size_t)size);

                MUST(n);
                if (chance(100) < (unsigned long)kept_pct) {
                        n->next = all;
                        all = n;
                        grown(size, 1);
                } else {
                        void *reply = malloc(40);

                        free(n);
                        free(reply);
                }
        }
}

static char *journal;
static size_t journal_size;

NAMED static void append_journal(long i) {
        (void)i;
        journal = (char *)realloc(journal, journal_size + (size_t)(size * per_step));
        MUST(journal);
        journal_size += (size_t)(size * per_step);
        grown(size * per_step, grown_blocks ? 0 : 1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NAMED static void note_arrival(long i) {
        struct node *n = (struct node *)malloc((size_t)size);

        (void)i;
        MUST(n);
        pthread_mutex_lock(&lock);
        n->next = all;
        all = n;
        grown(size, 1);
        pthread_mutex_unlock(&lock);
}

static void *arrivals(void *arg) {
        (void)arg;
        for (long i = warm_steps; i < shape_n_steps; i++) {
                pace(i);
                for (long k = 0; k < per_step; k++)
                        relay(depth, note_arrival, i);
        }
        return NULL;
}

static void rise_in_threads(long n) {
        pthread_t threads[16];

        for (long i = 0; i < n; i++)
                MUST(pthread_create(&threads[i], NULL, arrivals, NULL) == 0);
        for (long i = 0; i < shape_n_steps; i++)
                shape_step(i);
        for (long i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
}

static void rise(step_fn step) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                if (i >= warm_steps)
                        relay(depth, step, i);
        }
}

static void tear_down(void) {
        while (all) {
                struct node *n = all;

                all = n->next;
                free(n);
        }
        free(journal);
}

/* ---- not rising ------------------------------------------------------------------------------ */

static void **slots;
static long n_slots, n_filled;

NAMED static void keep_one(long at) {
        free(slots[at]);
        slots[at] = malloc((size_t)size / 2 + chance((unsigned long)size));
        MUST(slots[at]);
}

static void drop_one(long at) {
        free(slots[at]);
        slots[at] = NULL;
}

/* Filled in the first `fill_pct` of the time, then replaced at random or left alone. */
static void plateau(long fill_pct, int is_replaced) {
        long fill_steps = shape_n_steps * fill_pct / 100;

        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                if (i <= fill_steps)
                        for (; n_filled < n_slots * i / fill_steps; n_filled++)
                                keep_one(n_filled);
                else if (is_replaced)
                        for (long k = 0; k < per_step; k++)
                                keep_one((long)chance((unsigned long)n_slots));
        }
}

/* Grows to the limit, drops most of it, again and again; ends at any point of it. */
static void sawtooth(long periods, long dropped_pct) {
        for (long i = 0; i < shape_n_steps; i++) {
                long want = (long)((double)n_slots * periods * i / shape_n_steps) % n_slots;

                shape_step(i);
                if (want < n_filled % n_slots)
                        while (n_filled > n_slots * (100 - dropped_pct) / 100)
                                drop_one(--n_filled);
                for (; n_filled < want; n_filled++)
                        keep_one(n_filled);
        }
}

/* A queue that fills and drains; at the end it is empty or nearly so. */
static void queue(long rounds) {
        for (long i = 0; i < shape_n_steps; i++) {
                double at = (double)i * rounds / shape_n_steps;
                double part = at - (double)(long)at;
                long want = (long)((double)n_slots * (part < 0.5 ? 2 * part : 2 - 2 * part));

                shape_step(i);
                for (; n_filled < want; n_filled++)
                        keep_one(n_filled);
                while (n_filled > want)
                        drop_one(--n_filled);
        }
}

static char *table;

NAMED static void double_table(size_t bytes) {
        char *larger = (char *)calloc(1, bytes);

        MUST(larger);
        free(table);
        table = larger;
}

/* A hash table over entries that come from a pool: only the table grows, by doubling. */
static void doubling_table(long first_bytes) {
        size_t bytes = (size_t)first_bytes;
        double entries = 0, step = (double)first_bytes / 8 * 13 / (double)shape_n_steps;

        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                entries += step;
                if (!table || entries * 8 > (double)bytes)
                        double_table(table ? bytes *= 2 : bytes);
        }
}

/* A name is kept when it is seen for the first time; there are only so many names. */
static void saturating(void) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                for (long k = 0; k < per_step; k++) {
                        long at = (long)chance((unsigned long)n_slots);

                        if (!slots[at])
                                keep_one(at);
                }
        }
}

static void steady_shapes(void) {
        n_slots = param("slots");
        slots = (void **)calloc((size_t)n_slots, sizeof(void *));
        MUST(slots);
        if (shape_is("plateau"))
                plateau(param("fill_pct"), 0);
        else if (shape_is("early"))
                plateau(param("fill_pct"), 1);
        else if (shape_is("cache"))
                plateau(1, 1);
        else if (shape_is("sawtooth"))
                sawtooth(param("periods"), param("dropped_pct"));
        else if (shape_is("queue"))
                queue(param("periods"));
        else if (shape_is("table"))
                doubling_table(param("first_bytes"));
        else if (shape_is("saturating"))
                saturating();
        else
                _exit(96);
        if (is_torn_down) {
                for (long i = 0; i < n_slots; i++)
                        free(slots[i]);
                free(table);
                free(slots);
        }
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        is_torn_down = param("torn_down") != 0;
        warm_steps = shape_n_steps * param("warm_pct") / 100;
        if (shape_is("list")) {
                rise(remember_request);
                tell_growth("remember_request");
        } else if (shape_is("clients")) {
                kept_pct = param("kept_pct");
                rise(open_connection);
                tell_growth("open_connection");
        } else if (shape_is("creeping")) {
                rise(append_journal);
                tell_growth("append_journal");
        } else if (shape_is("threads")) {
                rise_in_threads(param("threads"));
                tell_growth("note_arrival");
        } else {
                steady_shapes();
        }
        if (is_torn_down)
                tear_down();
        shape_end();
        return 0;
}
