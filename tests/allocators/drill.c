/* SPDX-License-Identifier: MIT */
/* drill OPERATIONS THREADS [signals]: calls all functions of the allocators it is linked with, at random, from many threads,
 * and keeps count. Blocks change hands between threads. Prints what silt must find, beside what starting threads takes:
 * that is what a run with 0 operations does. Uses nothing that allocates unseen. */
#include "drill.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
        MAX_HEAPS = 8,
        MAX_DRILLS = 160,
        MAX_THREADS = 64,
        N_SLOTS = 128,
        N_SHARED = 64,
        N_KINDS = 5
};

struct heap {
        const char *name;
        const struct drill *drills[N_KINDS][MAX_DRILLS];
        size_t n[N_KINDS];
};

struct tally {
        uint64_t allocations, frees, reallocations, bytes_allocated, failed_allocations,
                calls[MAX_HEAPS];
        int64_t end_live_bytes, end_live_blocks;
        uint64_t damaged, sum;
};

struct worker {
        pthread_t thread;
        uint64_t n_operations, random;
        struct tally tally;
        struct block slots[N_SLOTS];
};

struct shared {
        atomic_flag is_taken;
        struct block block;
};

volatile size_t drill_too_much = PTRDIFF_MAX - 8192;
static struct heap heaps[MAX_HEAPS], signal_heap;
static unsigned n_heaps;
static struct worker workers[MAX_THREADS];
static struct shared shared[N_SHARED];
static atomic_ullong n_signal_blocks, n_signal_bytes, n_throws;

/* DRILL_ONLY in the environment: functions with one of these names, to find the one that is wrong. */
static bool is_wanted(const char *name) {
        const char *only = getenv("DRILL_ONLY");

        return !only || strstr(only, name);
}

static void heap_add(struct heap *h, const struct drill *drills, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (is_wanted(drills[i].name))
                        h->drills[drills[i].kind][h->n[drills[i].kind]++] = &drills[i];
}

void drill_add(const char *heap, const struct drill *drills, size_t n) {
        unsigned i = 0;

        while (i < n_heaps && strcmp(heaps[i].name, heap) != 0)
                i++;
        if (i == n_heaps)
                heaps[n_heaps++].name = heap;
        heap_add(&heaps[i], drills, n);
}

void drill_add_for_signals(const char *heap, const struct drill *drills, size_t n) {
        signal_heap.name = heap;
        heap_add(&signal_heap, drills, n);
}

void drill_count_throw(void) {
        atomic_fetch_add(&n_throws, 1);
}

static uint64_t next_random(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static const struct drill *pick(const struct heap *h, enum drill_kind kind, uint64_t r) {
        return h->n[kind] ? h->drills[kind][r % h->n[kind]] : NULL;
}

/* Mostly small ones; no block is smaller than any form rounds down to. */
static size_t pick_size(uint64_t r) {
        if (r % 1024 == 0)
                return 65536 + (r >> 10) % 400000;
        return 32 + (r >> 10) % (r % 16 == 0 ? 8000 : 400);
}

static void seal(struct block *b, uint64_t r) {
        b->seal = (unsigned char)r;
        ((unsigned char *)b->p)[0] = ((unsigned char *)b->p)[b->n - 1] = b->seal;
}

static void check(struct worker *w, const struct block *b, size_t n) {
        const unsigned char *p = b->p;

        w->tally.damaged += p[0] != b->seal || (n && p[n - 1] != b->seal);
        w->tally.damaged += b->align && (uintptr_t)p % b->align != 0;
        w->tally.sum = w->tally.sum * 31 + p[0];
}

static void count_alloc(struct worker *w, const struct block *b) {
        w->tally.allocations++;
        w->tally.bytes_allocated += b->n;
        w->tally.end_live_blocks++;
        w->tally.end_live_bytes += (int64_t)b->n;
        w->tally.calls[b->heap]++;
}

static void count_free(struct worker *w, size_t n) {
        w->tally.frees++;
        w->tally.end_live_blocks--;
        w->tally.end_live_bytes -= (int64_t)n;
}

static void take(struct worker *w, struct block *b) {
        uint64_t r = next_random(&w->random);
        const struct drill *d;

        b->heap = (unsigned)(r >> 50) % n_heaps;
        d = pick(&heaps[b->heap], DRILL_TAKE, r >> 32);
        d->run(b, pick_size(r));
        if (!b->p)
                _exit(3);
        seal(b, r);
        count_alloc(w, b);
}

static void give(struct worker *w, struct block *b) {
        const struct drill *d = pick(&heaps[b->heap], DRILL_GIVE, next_random(&w->random));

        check(w, b, b->n);
        count_free(w, b->n);
        d->run(b, 0);
        b->p = NULL;
}

static void resize(struct worker *w, struct block *b, enum drill_kind kind) {
        uint64_t r = next_random(&w->random);
        const struct drill *d = pick(&heaps[b->heap], kind, r >> 32);
        size_t old = b->n, n = pick_size(r);

        if (!d)
                return;
        d->run(b, n + (kind == DRILL_IN_PLACE && n == old));
        if (!b->p)
                _exit(4);
        if (kind == DRILL_IN_PLACE && b->n == old) {
                w->tally.failed_allocations += d->is_failure_counted;
                return;
        }
        check(w, b, 0);
        count_free(w, old);
        count_alloc(w, b);
        w->tally.reallocations++;
        seal(b, r);
}

static void fail(struct worker *w, uint64_t r) {
        const struct drill *d = pick(&heaps[r % n_heaps], DRILL_FAIL, r >> 8);
        struct block b = {0};

        if (!d)
                return;
        d->run(&b, 0);
        w->tally.damaged += b.p != NULL;
        w->tally.failed_allocations++;
}

static void swap(struct shared *s, struct block *b) {
        struct block mine = *b;

        while (atomic_flag_test_and_set_explicit(&s->is_taken, memory_order_acquire))
                ;
        *b = s->block;
        s->block = mine;
        atomic_flag_clear_explicit(&s->is_taken, memory_order_release);
}

static void *work(void *data) {
        struct worker *w = data;

        for (uint64_t i = 0; i < w->n_operations; i++) {
                uint64_t r = next_random(&w->random);
                struct block *b = &w->slots[r % N_SLOTS];

                r >>= 16;
                if (r % 64 == 0)
                        swap(&shared[(r >> 8) % N_SHARED], b);
                if (r % 4096 == 1)
                        fail(w, r >> 12);
                else if (!b->p)
                        take(w, b);
                else if (r % 8 < 2)
                        resize(w, b, DRILL_RESIZE);
                else if (r % 8 == 2)
                        resize(w, b, DRILL_IN_PLACE);
                else
                        give(w, b);
        }
        return NULL;
}

#ifdef __x86_64__
#define HANDLER __attribute__((force_align_arg_pointer)) /* qemu calls handlers with an odd stack */
#else
#define HANDLER
#endif

/* A block and back, in the middle of whatever runs. */
HANDLER static void on_signal(int number) {
        const struct drill *d =
                pick(&signal_heap, DRILL_TAKE, atomic_load(&n_signal_blocks) + (unsigned)number);
        struct block b = {0};

        d->run(&b, 48);
        if (!b.p)
                return;
        atomic_fetch_add(&n_signal_blocks, 1);
        atomic_fetch_add(&n_signal_bytes, b.n);
        pick(&signal_heap, DRILL_GIVE, (unsigned)number)->run(&b, 0);
}

static void start_signals(bool is_on) {
        struct sigaction action = {.sa_handler = is_on ? on_signal : SIG_IGN,
                                   .sa_flags = SA_RESTART};
        struct itimerval often = {{0, is_on ? 500 : 0}, {0, is_on ? 500 : 0}};

        if (is_on)
                sigaction(SIGPROF, &action, NULL);
        setitimer(ITIMER_PROF, &often, NULL);
}

static void say(const char *name, int64_t value) {
        char text[96], digits[24];
        size_t n = strlen(name), n_digits = 0;
        uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

        memcpy(text, name, n);
        text[n++] = ' ';
        if (value < 0)
                text[n++] = '-';
        do
                digits[n_digits++] = (char)('0' + rest % 10);
        while (rest /= 10);
        while (n_digits)
                text[n++] = digits[--n_digits];
        text[n++] = '\n';
        if (write(1, text, n) != (ssize_t)n)
                _exit(5);
}

static void say_tally(const struct tally *t) {
        uint64_t n_signal = atomic_load(&n_signal_blocks);

        say("allocations", (int64_t)(t->allocations + n_signal));
        say("frees", (int64_t)(t->frees + n_signal));
        say("reallocations", (int64_t)t->reallocations);
        say("failed_allocations", (int64_t)t->failed_allocations);
        say("bytes_allocated", (int64_t)(t->bytes_allocated + atomic_load(&n_signal_bytes)));
        say("end_live_bytes", t->end_live_bytes);
        say("end_live_blocks", t->end_live_blocks);
        say("damaged", (int64_t)t->damaged);
        say("sum", (int64_t)(t->sum & INT64_MAX));
        say("throws", (int64_t)atomic_load(&n_throws));
        say("signals", (int64_t)n_signal);
        for (unsigned i = 0; i < n_heaps; i++)
                say(heaps[i].name, (int64_t)t->calls[i]);
}

static void add_tally(struct tally *to, const struct tally *t) {
        to->allocations += t->allocations;
        to->frees += t->frees;
        to->reallocations += t->reallocations;
        to->bytes_allocated += t->bytes_allocated;
        to->failed_allocations += t->failed_allocations;
        to->end_live_bytes += t->end_live_bytes;
        to->end_live_blocks += t->end_live_blocks;
        to->damaged += t->damaged;
        to->sum ^= t->sum;
        for (unsigned i = 0; i < n_heaps; i++)
                to->calls[i] += t->calls[i];
}

int main(int argc, char **argv) {
        uint64_t n_operations = strtoull(argv[1], NULL, 10);
        unsigned n_threads = (unsigned)atoi(argv[2]);
        bool has_signals = argc > 3;
        struct tally all = {0};

        if (has_signals)
                start_signals(true);
        for (unsigned i = 0; i < n_threads; i++) {
                workers[i].n_operations = n_operations / n_threads;
                workers[i].random = 0x9e3779b97f4a7c15ull * (i + 1);
                if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
                        return 2;
        }
        for (unsigned i = 0; i < n_threads; i++) {
                pthread_join(workers[i].thread, NULL);
                add_tally(&all, &workers[i].tally);
        }
        if (has_signals)
                start_signals(false);
        say_tally(&all);
        return 0;
}
