/* SPDX-License-Identifier: MIT */
/* How many events a second the recorder drains alone, from rings that were written before: lending, draining, ordering, call paths, pairing,
 * figures, and the real writer. Only the CPU time inside the pipeline counts, and that of threads it starts: what the slower of
 * the two takes is what two cores drain.
 *
 *   bench_pipeline [--worker]                                               1, 4 and 8 threads, few and 250,000 live blocks, tokens and frames
 *   bench_pipeline [--worker] THREADS LIVE MILLIONS tokens|frames [TRACE]   one of them
 *
 * --worker: another thread makes columns and compresses, as it does while the recorder is behind and a core is idle. What the first then
 * waits for it is in the wall time, which says something where nothing else runs.
 *
 * tokens: a path that came before is named by its token (record.h), as threads do; frames: every allocation brings its frames, as before
 * there were tokens and as a path that lost its token does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "base/vec.h"
#include "pipeline/testing/fake_target.h"
#include "trace/writer.h"

enum {
        DEPTH = 16,
        N_VARIED = 8, /* innermost frames that differ */
        N_BRANCHES = 3,
        N_PATHS = 6561, /* N_BRANCHES to the power of N_VARIED */
        MAX_THREADS = 64,
        PER_PUMP = 8000,
        PER_TURN = 16,   /* events of one thread in a row */
        YOUNG = 64,      /* frees are mostly of a thread's last so many blocks */
        N_FEW_LIVE = 64, /* per thread */
        EVENT_NS = 40,
};

static const double aim_per_s = 25e6;

static uint64_t rng_state = 88172645463325252ull;

static uint64_t rng(void) {
        rng_state ^= rng_state << 13;
        rng_state ^= rng_state >> 7;
        return rng_state ^= rng_state << 17;
}

static double clock_s(clockid_t clock) {
        return (double)clock_ns(clock) / 1e9;
}

/* Records made beforehand, so that making them does not disturb the cache the pipeline works in. */
struct tape {
        VEC(uint64_t)
        words; /* per record: thread << 32 | words after word 0, then those; word 0 is kind alone */
};

struct maker {
        uint64_t path[DEPTH],
                sent[DEPTH]; /* innermost first; sent: the last that came with frames */
        uint8_t branches[N_VARIED];
        bool has_token[N_PATHS];
        VEC(uint64_t) live; /* addresses, oldest first where nothing was taken out of the middle */
};

struct bench {
        struct fake_target target;
        struct fake_thread threads[MAX_THREADS];
        struct maker makers[MAX_THREADS];
        uint32_t n_threads;
        bool has_tokens, has_worker;
        VEC(uint64_t) idle; /* addresses */
        size_t n_live, want_live,
                n_warm; /* n_warm: events until there are as many live blocks as wanted */
        struct tape tape;
        size_t tape_pos;
};

struct drained {
        double main_ns, others_ns, wall_ns; /* per event */
        uint64_t n_counted;
};

/* Some branches are taken more often than others, as in programs. */
static uint8_t branch(void) {
        uint64_t r = rng() % 100;

        return r < 60 ? 0 : r < 85 ? 1 : 2;
}

/* A walk over a call tree: each step leaves a few frames and enters others. Returns the path's number. */
static uint32_t walk(struct maker *m) {
        uint32_t n_left = 1 + (uint32_t)(rng() % 100 < 70 ? rng() % 2 : rng() % N_VARIED), path = 0;

        for (uint32_t k = 0; k < n_left; k++)
                m->branches[k] = branch();
        for (uint32_t k = 0; k < DEPTH; k++)
                m->path[k] = 0x400000 + ((uint64_t)(DEPTH - 1 - k) << 12) +
                             (k < N_VARIED ? m->branches[k] * 16u : 0);
        for (uint32_t k = 0; k < N_VARIED; k++)
                path = path * N_BRANCHES + m->branches[k];
        return path;
}

static void tape_frames(struct bench *b, uint32_t i, uint64_t address, uint64_t size_bytes,
                        uint64_t token) {
        struct maker *m = &b->makers[i];
        uint32_t n_kept = DEPTH, n_new;

        for (uint32_t k = 0; k < DEPTH; k++)
                if (m->path[k] != m->sent[k])
                        n_kept = DEPTH - 1 - k;
        n_new = DEPTH - n_kept;
        memcpy(m->sent, m->path, sizeof(m->sent));
        vec_push(&b->tape.words, (uint64_t)i << 32 | (3 + n_new));
        vec_push(&b->tape.words, WIRE_ALLOC);
        vec_push(&b->tape.words, address);
        vec_push(&b->tape.words, size_bytes);
        vec_push(&b->tape.words,
                 wire_stack_word(n_kept, n_new, 0, WIRE_END_COMPLETE) | token << WIRE_TOKEN_SHIFT);
        for (uint32_t k = 0; k < n_new; k++)
                vec_push(&b->tape.words, m->path[k]);
}

static void tape_alloc(struct bench *b, uint32_t i) {
        struct maker *m = &b->makers[i];
        uint64_t address = b->idle.items[--b->idle.n], size_bytes = 16 + 16 * (rng() % 32);
        uint32_t path = walk(m);

        vec_push(&m->live, address);
        b->n_live++;
        if (b->has_tokens && m->has_token[path]) {
                vec_push(&b->tape.words, (uint64_t)i << 32 | 2);
                vec_push(&b->tape.words, WIRE_ALLOC_KNOWN);
                vec_push(&b->tape.words, address);
                vec_push(&b->tape.words, size_bytes | (uint64_t)(path + 1) << WIRE_TOKEN_SHIFT);
                return;
        }
        m->has_token[path] = true;
        tape_frames(b, i, address, size_bytes, b->has_tokens ? path + 1 : 0);
}

/* Of few blocks each is young; of many, every other one is any. One in sixteen was another thread's. */
static void tape_free(struct bench *b, uint32_t i) {
        struct maker *m = &b->makers[rng() % 16 == 0 ? rng() % b->n_threads : i];
        size_t back, k;

        for (uint32_t k_maker = i; m->live.n == 0; k_maker++)
                m = &b->makers[k_maker % b->n_threads];
        back = rng() % 2 ? rng() % MIN(m->live.n, (size_t)YOUNG) : rng() % m->live.n;
        k = m->live.n - 1 - back;
        vec_push(&b->tape.words, (uint64_t)i << 32 | 1);
        vec_push(&b->tape.words, WIRE_FREE);
        vec_push(&b->tape.words, m->live.items[k]);
        vec_push(&b->idle, m->live.items[k]);
        m->live.items[k] = m->live.items[--m->live.n];
        b->n_live--;
}

static void tape_record(struct bench *b, size_t n_events) {
        for (size_t k = 0; k < n_events; k++) {
                uint32_t i = (uint32_t)(k / PER_TURN % b->n_threads);
                bool allocates = b->n_live < b->want_live ? rng() % 8 != 0 : rng() % 2 == 0;

                if (b->idle.n > 0 && (allocates || b->n_live == 0))
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

        /* a broken ring takes nothing more */
        for (; n < n_events && b->tape_pos < b->tape.words.n && b->target.n_broken == 0; n++) {
                const uint64_t *r = &b->tape.words.items[b->tape_pos];
                uint32_t n_words = (uint32_t)r[0];

                b->target.now += EVENT_NS;
                fake_put_words(&b->threads[r[0] >> 32], b->target.now, (unsigned)r[1], r + 2,
                               n_words);
                b->tape_pos += 2 + n_words;
        }
        return n;
}

static struct trace_writer *open_writer(const char *path, FILE **ret_file) {
        static const char *const args[] = {"bench"};
        struct trace_meta meta = {
                .pid = 1, .silt_version = "", .host = "", .cwd = "", .n_args = 1, .args = args};
        struct trace_writer *w = NULL;
        struct err e;
        FILE *f = path ? fopen(path, "w+") : tmpfile();

        if (!f || trace_writer_open(fileno(f), &meta, &w, &e) < 0) {
                fprintf(stderr, "bench_pipeline: cannot write %s\n",
                        path ? path : "a temporary file");
                exit(2);
        }
        *ret_file = f;
        return w;
}

static void bench_init(struct bench *b, struct trace_writer *w) {
        size_t n_addresses = b->want_live * 2 + (size_t)b->n_threads * PER_TURN;
        uint32_t idx;

        for (size_t i = 0; i < n_addresses; i++)
                vec_push(&b->idle, 0xaaaa00000000ull + (n_addresses - i) * 48);
        fake_target_init(&b->target, w, NULL);
        idx = fake_add_image(&b->target, w);
        b->target.now = 1000000;
        for (uint32_t i = 0; i < b->n_threads; i++)
                fake_add_thread(&b->target, &b->threads[i], idx, 100 + i);
}

/* Threads that the pipeline starts work while the rings are filled, too: their time is taken from their clocks, not by waiting. */
static struct drained drain_all(struct bench *b) {
        double main_s = 0, wall_s = 0,
               others_s = -clock_s(CLOCK_PROCESS_CPUTIME_ID) + clock_s(CLOCK_THREAD_CPUTIME_ID);
        uint64_t n_played = 0, n_counted = 0;
        size_t n;

        while ((n = tape_play(b, PER_PUMP)) > 0) {
                double start = clock_s(CLOCK_THREAD_CPUTIME_ID),
                       wall_start = clock_s(CLOCK_MONOTONIC);

                pipeline_pump(b->target.pipeline);
                if (n_played >= b->n_warm) {
                        main_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - start;
                        wall_s += clock_s(CLOCK_MONOTONIC) - wall_start;
                        n_counted += n;
                }
                n_played += n;
        }
        fake_settle(&b->target);
        pipeline_finish(b->target.pipeline, b->target.now);
        others_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - clock_s(CLOCK_THREAD_CPUTIME_ID);
        return (struct drained){.main_ns = main_s * 1e9 / (double)n_counted,
                                .others_ns = others_s * 1e9 / (double)n_played,
                                .wall_ns = wall_s * 1e9 / (double)n_counted,
                                .n_counted = n_counted};
}

/* False: the pipeline does not say what the tape said. */
static bool is_right(const struct bench *b, uint64_t n_events) {
        struct pipeline_totals totals;

        return pipeline_get_totals(b->target.pipeline, 0, &totals) && b->target.n_broken == 0 &&
               totals.counts.n_allocs + totals.counts.n_frees == n_events &&
               totals.counts.n_allocs - totals.counts.n_frees == b->n_live &&
               totals.counts.n_lost == 0;
}

static void print_line(const struct bench *b, const struct drained *d, FILE *f) {
        struct pipeline_stats s;
        double slower = MAX(d->main_ns, d->others_ns);

        pipeline_get_stats(b->target.pipeline, &s);
        printf("%2u thread%s %7zu live, %s: %5.1f ns", b->n_threads,
               b->n_threads == 1 ? ", " : "s,", b->n_live, b->has_tokens ? "tokens" : "frames",
               d->main_ns);
        if (b->has_worker)
                printf(", worker %5.1f ns, wall %5.1f ns", d->others_ns, d->wall_ns);
        printf(" an event: %5.1f M a second (%s), %.2f bytes, live %.1f MiB, all %.1f MiB, %llu paths\n",
               1e3 / slower, 1e9 / slower >= aim_per_s ? "ok" : "aim 25",
               (double)lseek(fileno(f), 0, SEEK_END) / (double)s.n_records,
               (double)s.live_table_bytes / (1 << 20),
               (double)(s.live_table_bytes + s.site_bytes + s.intern_bytes + s.queue_bytes) /
                       (1 << 20),
               (unsigned long long)s.n_stacks);
        fflush(stdout);
}

static bool bench_run(uint32_t n_threads, size_t want_live, uint64_t n_events, bool has_tokens,
                      bool has_worker, const char *path) {
        struct bench *b = calloc(1, sizeof(*b));
        FILE *f = NULL;
        struct trace_writer *w = open_writer(path, &f);
        struct drained d;
        bool ok;

        if (!b)
                exit(2);
        *b = (struct bench){.n_threads = n_threads,
                            .want_live = want_live,
                            .has_tokens = has_tokens,
                            .has_worker = has_worker};
        rng_state = 88172645463325252ull;
        bench_init(b, w);
        tape_record(b, n_events);
        trace_writer_set_worker(w, has_worker);
        d = drain_all(b);
        ok = is_right(b, n_events);
        print_line(b, &d, f);
        if (!ok)
                printf("WRONG: %s\n", b->target.n_broken
                                              ? "the pipeline takes a ring for broken"
                                              : "the figures are not those of the records");
        fake_target_done(&b->target);
        trace_writer_free(w);
        fclose(f);
        for (uint32_t i = 0; i < n_threads; i++)
                vec_free(&b->makers[i].live);
        vec_free(&b->tape.words);
        vec_free(&b->idle);
        free(b);
        return ok;
}

int main(int argc, char **argv) {
        static const uint32_t threads[] = {1, 4, 8};
        bool has_worker = argc > 1 && strcmp(argv[1], "--worker") == 0, ok = true;

        argc -= has_worker;
        argv += has_worker;
        if (argc > 4) {
                uint32_t n = (uint32_t)atoi(argv[1]);
                size_t n_live = strtoull(argv[2], NULL, 10);
                uint64_t n_events = strtoull(argv[3], NULL, 10) * 1000000;

                if (n < 1 || n > MAX_THREADS || !n_live || !n_events)
                        return 2;
                return bench_run(n, n_live, n_events, strcmp(argv[4], "tokens") == 0, has_worker,
                                 argc > 5 ? argv[5] : NULL)
                               ? 0
                               : 1;
        }
        if (argc > 1)
                return 2;
        for (int has_tokens = 1; has_tokens >= 0; has_tokens--)
                for (int many = 0; many < 2; many++)
                        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                                ok &= bench_run(threads[i],
                                                many ? 250000 : threads[i] * (size_t)N_FEW_LIVE,
                                                4000000, has_tokens, has_worker, NULL);
        return ok ? 0 : 1;
}
