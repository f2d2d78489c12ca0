/* SPDX-License-Identifier: MIT */
/* bulk OPERATIONS THREADS [cached]: blocks in heaps that are released whole, by threads that each have heaps of their own. Prints what
 * silt must find beside what a run with 0 operations does. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, N_SLOTS = 200 };

struct block {
        void *p;
        size_t n;
};

struct worker {
        pthread_t thread;
        unsigned no;
        uint64_t n_operations, random;
        uint64_t allocations, frees, reallocations, bytes_allocated, heaps, heaps_gone, wrong;
        uint64_t end_live_bytes, end_live_blocks, in_bulk;
        struct block slots[N_SLOTS];
};

static struct worker workers[MAX_THREADS];
static unsigned n_workers;
static bool is_cached; /* blocks come from caches, which may have them of another heap */

static uint64_t next_random(struct worker *w) {
        w->random ^= w->random << 13;
        w->random ^= w->random >> 7;
        w->random ^= w->random << 17;
        return w->random >> 8;
}

static size_t random_size(struct worker *w) {
        return 1 + next_random(w) % (next_random(w) % 64 == 0 ? 300000 : 700);
}

static void took(struct worker *w, struct block *b, void *p, size_t n) {
        b->p = p;
        b->n = n;
        if (!p) {
                w->wrong++;
                return;
        }
        w->allocations++;
        w->bytes_allocated += n;
        memset(p, (int)n, n < 64 ? n : 64);
}

static void gave(struct worker *w, struct block *b) {
        w->frees++;
        b->p = NULL;
}

static void resized(struct worker *w, struct block *b, void *p, size_t n) {
        w->reallocations++;
        w->frees++;
        took(w, b, p, n);
}

static void say(const char *name, uint64_t value) {
        char text[96], digits[24];
        size_t n = strlen(name), n_digits = 0;

        memcpy(text, name, n);
        text[n++] = ' ';
        do
                digits[n_digits++] = (char)('0' + value % 10);
        while (value /= 10);
        while (n_digits)
                text[n++] = digits[--n_digits];
        text[n++] = '\n';
        if (write(1, text, n) != (ssize_t)n)
                _exit(5);
}

static void *work(void *arg);
static void begin(void); /* before the threads */
static void end(void);   /* when they are gone */

#define SUM(field)                                                                                 \
        {                                                                                          \
                uint64_t sum = 0;                                                                  \
                for (unsigned i = 0; i < n_workers; i++)                                           \
                        sum += workers[i].field;                                                   \
                say(#field, sum);                                                                  \
        }

int main(int argc, char **argv) {
        uint64_t n_operations = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;

        n_workers = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
        is_cached = argc > 3;
        begin();
        for (unsigned i = 0; i < n_workers; i++) {
                struct worker *w = &workers[i];

                w->no = i;
                w->n_operations = n_operations / n_workers;
                w->random = 0x9e3779b97f4a7c15ull * (i + 1);
                if (pthread_create(&w->thread, NULL, work, w) != 0)
                        return 2;
        }
        for (unsigned i = 0; i < n_workers; i++)
                pthread_join(workers[i].thread, NULL);
        end();
        for (unsigned i = 0; i < n_workers; i++)
                for (unsigned k = 0; k < N_SLOTS; k++)
                        if (workers[i].slots[k].p) {
                                workers[i].end_live_bytes += workers[i].slots[k].n;
                                workers[i].end_live_blocks++;
                        }
        SUM(allocations)
        SUM(frees)
        SUM(reallocations)
        SUM(bytes_allocated)
        SUM(end_live_bytes)
        SUM(end_live_blocks)
        SUM(heaps)
        SUM(heaps_gone)
        SUM(in_bulk)
        SUM(wrong)
        return 0;
}
