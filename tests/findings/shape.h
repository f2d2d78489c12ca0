/* SPDX-License-Identifier: MIT */
/* What the programs of this folder share: parameters from the command line (`name=value`), a pace that catches up, telling
 * truths on stdout without allocating, and memory around the culprit that must not be mistaken for it. */
#ifndef SHAPE_H
#define SHAPE_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function that keeps its name and its frame. */
#define NAMED __attribute__((noipa, unused))

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

static int shape_argc;
static char **shape_argv;

/* The number given as `name=value`; a program asked without it has a defect. */
static inline long param(const char *name) {
        size_t n = strlen(name);

        for (int i = 1; i < shape_argc; i++)
                if (strncmp(shape_argv[i], name, n) == 0 && shape_argv[i][n] == '=')
                        return atol(shape_argv[i] + n + 1);
        _exit(97);
}

static inline int shape_is(const char *name) {
        return strcmp(shape_argv[1], name) == 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static inline void tell_text(const char *name, const char *value) {
        char line[256];
        size_t n = strlen(name), m = strlen(value);

        MUST(n + m + 2 <= sizeof(line));
        memcpy(line, name, n);
        line[n] = ' ';
        memcpy(line + n + 1, value, m);
        line[n + 1 + m] = '\n';
        MUST(write(1, line, n + m + 2) == (ssize_t)(n + m + 2));
}

static inline void tell(const char *name, unsigned long value) {
        char digits[24];
        size_t at = sizeof(digits) - 1;

        digits[at] = '\0';
        do {
                digits[--at] = (char)('0' + value % 10);
                value /= 10;
        } while (value);
        tell_text(name, digits + at);
}

/* ---- chance and time ------------------------------------------------------------------------- */

static inline uint64_t chance_next(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static uint64_t shape_state;

static inline unsigned long chance(unsigned long below) {
        return chance_next(&shape_state) % below;
}

/* low to high, both included */
static inline unsigned long between(unsigned long low, unsigned long high) {
        return low + chance(high - low + 1);
}

static inline uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_until(uint64_t at_ns) {
        struct timespec t = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
                ;
}

static uint64_t shape_start_ns, shape_begin_ns, shape_span_ns;
static uint64_t
        shape_late_ns; /* how late a step was at most: a machine that is busy stands still for a while */
static long shape_n_steps;

/* The program is `ms` long and has `steps` steps; a late step is followed by quicker ones. */
static inline void pace(long i) {
        uint64_t at_ns = shape_begin_ns +
                         (uint64_t)((double)shape_span_ns * (double)i / (double)shape_n_steps);
        uint64_t late_ns;

        sleep_until(at_ns);
        late_ns = now_ns() - at_ns;
        if (late_ns > __atomic_load_n(&shape_late_ns, __ATOMIC_RELAXED))
                __atomic_store_n(&shape_late_ns, late_ns, __ATOMIC_RELAXED);
}

/* Writes into every page, so that what is asked for is there. */
static inline void *touched(void *block, size_t size) {
        volatile char *bytes = (volatile char *)block;

        MUST(block);
        for (size_t i = 0; i < size; i += 4096)
                bytes[i] = 1;
        return block;
}

/* ---- memory around it ------------------------------------------------------------------------ */

enum { AROUND_SLOTS = 256 };

/* One per thread: slots whose blocks are replaced one by one, at a steady level. */
struct around {
        void *slots[AROUND_SLOTS];
        uint64_t state;
};

static struct around around_main;
static void **around_held;
static size_t around_n_held;
static volatile int around_is_over;
static pthread_t around_threads[8];
static long around_n_threads;

NAMED static void around_replace(struct around *a, long n) {
        for (long i = 0; i < n; i++) {
                void **slot = &a->slots[chance_next(&a->state) % AROUND_SLOTS];
                void *old = *slot;

                *slot = malloc(16 + chance_next(&a->state) % 1500);
                MUST(*slot);
                free(old);
        }
}

static inline void around_fill(struct around *a) {
        for (int i = 0; i < AROUND_SLOTS; i++)
                MUST(a->slots[i] = malloc(16 + chance_next(&a->state) % 1500));
}

static inline void around_empty(struct around *a) {
        for (int i = 0; i < AROUND_SLOTS; i++)
                free(a->slots[i]);
}

static inline void *around_work(void *arg) {
        struct around *a = (struct around *)arg;

        around_fill(a);
        while (!around_is_over) {
                around_replace(a, 20);
                usleep(3000);
        }
        around_empty(a);
        return NULL;
}

/* `hold_kb` from the start to the end, in blocks of mixed sizes. */
NAMED static void around_hold(size_t bytes) {
        size_t n = 0, most = bytes / 64 + 1;

        around_held = (void **)malloc(most * sizeof(void *));
        MUST(around_held);
        while (bytes > 64) {
                size_t size = between(64, 3000);

                size = size > bytes ? bytes : size;
                MUST(around_held[n++] = malloc(size));
                bytes -= size;
        }
        around_n_held = n;
}

/* Reads the parameters every program has and sets up what lives around the culprit. */
static inline void shape_start(int argc, char **argv) {
        static struct around others[8];

        shape_start_ns = now_ns();
        shape_argc = argc;
        shape_argv = argv;
        MUST(argc > 1);
        shape_state = (uint64_t)param("seed") * 0x9e3779b97f4a7c15u + 1;
        around_main.state = chance_next(&shape_state) | 1;
        around_hold((size_t)param("hold_kb") * 1024);
        around_fill(&around_main);
        around_n_threads = param("others");
        MUST(around_n_threads <= 8);
        for (long i = 0; i < around_n_threads; i++) {
                others[i].state = chance_next(&shape_state) | 1;
                MUST(pthread_create(&around_threads[i], NULL, around_work, &others[i]) == 0);
        }
        shape_n_steps = param("steps");
        shape_span_ns = (uint64_t)param("ms") * 1000000u;
        shape_begin_ns = now_ns();
}

/* What goes on beside step i. */
static inline void shape_step(long i) {
        pace(i);
        around_replace(&around_main, param("churn"));
}

/* Releases what shape_start() made. */
static inline void shape_end(void) {
        pace(shape_n_steps);
        tell("late_ms", shape_late_ns / 1000000);
        tell("start_ms", (shape_begin_ns - shape_start_ns) / 1000000);
        around_is_over = 1;
        for (long i = 0; i < around_n_threads; i++)
                pthread_join(around_threads[i], NULL);
        around_empty(&around_main);
        for (size_t i = 0; i < around_n_held; i++)
                free(around_held[i]);
        free(around_held);
}

/* ---- depth ----------------------------------------------------------------------------------- */

typedef void (*step_fn)(long i);

NAMED static void relay(long depth, step_fn step, long i) {
        if (depth > 0)
                relay(depth - 1, step, i);
        else
                step(i);
        __asm__ volatile("");
}

/* ---- growth as the program knows it ---------------------------------------------------------- */

static unsigned long grown_bytes, grown_blocks;
static unsigned long grown_beside_bytes; /* nodes and the like: may be told with it or apart */
static uint64_t grown_from_ns, grown_to_ns;
static unsigned long grown_from_bytes;

/* The culprit's live bytes changed; the first call begins the growth, the last ends it. */
static inline void grown(long bytes, long blocks) {
        grown_bytes += (unsigned long)bytes;
        grown_blocks += (unsigned long)blocks;
        grown_to_ns = now_ns();
        if (!grown_from_ns) {
                grown_from_ns = grown_to_ns;
                grown_from_bytes = grown_bytes;
        }
}

static inline void tell_growth(const char *culprit) {
        double seconds = (double)(grown_to_ns - grown_from_ns) / 1e9;

        tell_text("culprit", culprit);
        tell("bytes", grown_bytes);
        tell("beside", grown_beside_bytes);
        tell("blocks", grown_blocks);
        tell("per_second", (unsigned long)((double)(grown_bytes - grown_from_bytes) / seconds));
}

#endif
