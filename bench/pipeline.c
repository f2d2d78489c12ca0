/* SPDX-License-Identifier: MIT */
/* How many events a second the recorder's pipeline handles: lending, draining, ordering, interning, pairing, figures,
 * and the writer it is linked with. Threads are simulated; only the CPU time inside the pipeline counts.
 *
 *   pipeline [threads] [live blocks] [million events] [TRACE]     TRACE: the real writer, to this file */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/vec.h"
#include "pipeline/testing/fake_target.h"
#include "trace/writer.h"

enum { DEPTH = 16, MAX_THREADS = 64, PER_PUMP = 8000 };

static uint64_t rng_state = 88172645463325252ull;

static uint64_t rng(void) {
        rng_state ^= rng_state << 13;
        rng_state ^= rng_state >> 7;
        return rng_state ^= rng_state << 17;
}

static double seconds_now(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Some branches are taken more often than others, as in programs. */
static uint64_t branch(void) {
        uint64_t r = rng() % 100;

        return r < 60 ? 0 : r < 85 ? 1 : 2;
}

/* A walk over a call tree: each step leaves a few frames and enters others; about 6,500 different stacks. */
static void walk(uint64_t *pcs) {
        uint32_t n_left = 1 + (uint32_t)(rng() % 100 < 70 ? rng() % 2 : rng() % 8);

        for (uint32_t i = 0; i < n_left; i++)
                pcs[n_left - 1 - i] =
                        0x400000 + ((uint64_t)(DEPTH - n_left + i) << 12) + branch() * 16;
}

/* Records made beforehand, so that making them does not disturb the cache the pipeline works in. */
struct tape {
        VEC(uint64_t)
        words; /* per record: thread << 32 | words after word 0, then those; word 0 is kind alone */
};

struct bench {
        struct fake_target target;
        struct fake_thread threads[MAX_THREADS];
        uint64_t stacks[MAX_THREADS][DEPTH], sent[MAX_THREADS][DEPTH];
        uint32_t n_threads;
        uint64_t *live, *idle; /* addresses */
        size_t n_live, n_idle, want_live,
                n_warm; /* n_warm: events until there are as many live blocks as wanted */
        struct tape tape;
        size_t tape_pos;
};

static void tape_alloc(struct bench *b, uint32_t i) {
        uint64_t address = b->idle[--b->n_idle];
        uint32_t n_kept = DEPTH, n_new;

        walk(b->stacks[i]);
        b->live[b->n_live++] = address;
        for (uint32_t k = 0; k < DEPTH; k++)
                if (b->stacks[i][k] != b->sent[i][k])
                        n_kept = DEPTH - 1 - k;
        n_new = DEPTH - n_kept;
        memcpy(b->sent[i], b->stacks[i], sizeof(b->sent[i]));
        vec_push(&b->tape.words, (uint64_t)i << 32 | (3 + n_new));
        vec_push(&b->tape.words, WIRE_ALLOC);
        vec_push(&b->tape.words, address);
        vec_push(&b->tape.words, 16 + rng() % 500);
        vec_push(&b->tape.words, wire_stack_word(n_kept, n_new, 0, WIRE_END_COMPLETE));
        for (uint32_t k = 0; k < n_new; k++)
                vec_push(&b->tape.words, b->stacks[i][k]);
}

static void tape_free(struct bench *b, uint32_t i) {
        /* half are young, half are any */
        size_t back = rng() % 2 ? rng() % MIN(b->n_live, (size_t)64) : rng() % b->n_live;
        size_t k = b->n_live - 1 - back;

        vec_push(&b->tape.words, (uint64_t)i << 32 | 1);
        vec_push(&b->tape.words, WIRE_FREE);
        vec_push(&b->tape.words, b->live[k]);
        b->idle[b->n_idle++] = b->live[k];
        b->live[k] = b->live[--b->n_live];
}

static void tape_record(struct bench *b, size_t n_events) {
        for (size_t k = 0; k < n_events; k++) {
                uint32_t i = (uint32_t)(k / 16 % b->n_threads);

                if (b->n_live == 0 ||
                    (b->n_live < b->want_live ? rng() % 8 != 0 : rng() % 2 && b->n_idle > 0))
                        tape_alloc(b, i);
                else
                        tape_free(b, i);
                if (b->n_warm == 0 && b->n_live >= b->want_live)
                        b->n_warm = k;
        }
}

/* Puts the next records into the rings. */
static size_t tape_play(struct bench *b, size_t n_events) {
        size_t n = 0;

        for (; n < n_events && b->tape_pos < b->tape.words.n; n++) {
                const uint64_t *r = &b->tape.words.items[b->tape_pos];
                uint32_t n_words = (uint32_t)r[0];

                b->target.now += 40;
                fake_put_words(&b->threads[r[0] >> 32], b->target.now, (unsigned)r[1], r + 2,
                               n_words);
                b->tape_pos += 2 + n_words;
        }
        return n;
}

static struct trace_writer *open_writer(const char *path) {
        static const char *const args[] = {"bench"};
        struct trace_meta meta = {
                .pid = 1, .silt_version = "", .host = "", .cwd = "", .n_args = 1, .args = args};
        struct trace_writer *w = NULL;
        struct err e;
        FILE *f = fopen(path, "w+");

        if (!f || trace_writer_open(fileno(f), &meta, &w, &e) < 0) {
                fprintf(stderr, "pipeline: cannot write %s\n", path);
                exit(2);
        }
        return w;
}

static void print_results(const struct bench *b, double busy_s, uint64_t n_counted) {
        struct pipeline_stats s;

        pipeline_get_stats(b->target.pipeline, &s);
        printf("%u threads, %zu live, %llu sites, %llu stacks: %.1f ns/event, %.2f M events/s\n",
               b->n_threads, b->n_live, (unsigned long long)s.n_sites,
               (unsigned long long)s.n_stacks, busy_s * 1e9 / (double)n_counted,
               (double)n_counted / busy_s / 1e6);
        printf("live table %.1f bytes/block, sites %.1f MiB, intern %.1f MiB, queues %.1f MiB, lent %.1f MiB\n",
               (double)s.live_table_bytes / (double)b->n_live, (double)s.site_bytes / (1 << 20),
               (double)s.intern_bytes / (1 << 20), (double)s.queue_bytes / (1 << 20),
               (double)s.lent_bytes / (1 << 20));
}

static void bench_init(struct bench *b, struct trace_writer *w) {
        uint32_t idx;

        b->live = calloc(b->want_live * 2 + 1, sizeof(uint64_t));
        b->idle = calloc(b->want_live * 2 + 1, sizeof(uint64_t));
        if (!b->live || !b->idle)
                exit(2);
        for (size_t i = 0; i < b->want_live * 2; i++)
                b->idle[b->n_idle++] = 0xaaaa00000000ull + (b->want_live * 2 - i) * 48;
        fake_target_init(&b->target, w, NULL);
        idx = fake_add_image(&b->target, w);
        b->target.now = 1000000;
        for (uint32_t i = 0; i < b->n_threads; i++) {
                fake_add_thread(&b->target, &b->threads[i], idx, 100 + i);
                for (uint32_t k = 0; k < DEPTH; k++)
                        b->stacks[i][k] = 0x400000 + ((uint64_t)(DEPTH - 1 - k) << 12);
        }
}

int main(int argc, char **argv) {
        struct bench *b = calloc(1, sizeof(*b));
        uint64_t n_events = (argc > 3 ? strtoull(argv[3], NULL, 10) : 4) * 1000000, n_played = 0,
                 n_counted = 0;
        struct trace_writer *w = open_writer(argc > 4 ? argv[4] : "/tmp/silt-bench.trace");
        double busy_s = 0;
        size_t n;

        if (!b)
                return 2;
        b->n_threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
        b->want_live = argc > 2 ? strtoull(argv[2], NULL, 10) : 250000;
        if (b->n_threads < 1 || b->n_threads > MAX_THREADS)
                return 2;
        bench_init(b, w);
        tape_record(b, n_events);
        while ((n = tape_play(b, PER_PUMP)) > 0) {
                double start = seconds_now();

                pipeline_pump(b->target.pipeline);
                if (n_played >= b->n_warm) {
                        busy_s += seconds_now() - start;
                        n_counted += n;
                }
                n_played += n;
        }
        pipeline_end_slice(b->target.pipeline, UINT64_MAX, false);
        print_results(b, busy_s, n_counted);
        fake_target_done(&b->target);
        trace_writer_free(w);
        vec_free(&b->tape.words);
        free(b->live);
        free(b->idle);
        free(b);
        return 0;
}
