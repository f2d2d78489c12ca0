/* SPDX-License-Identifier: MIT */
/* Threads that free each other's blocks, in the two ways of allocators' benchmarks:
 *
 *   exchange hand THREADS BLOCKS-PER-THREAD   half of them allocate batches and hand them on, the others free them (as xmalloc-test)
 *   exchange swap THREADS BLOCKS-PER-THREAD   each replaces blocks at random places of a table, and passes the table on
 *                                             to the next thread after every round (as larson)
 *
 * A block knows its size and who made it; what is freed must sum up to what was allocated, and is the same in each run. Prints
 * blocks and bytes, or what differs. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_THREADS_MAX = 64, N_BATCH = 128, N_QUEUE = 64, N_TABLE = 1000, N_ROUND = 10000 };

struct block {
        uint32_t size_bytes, maker;
};

struct sums {
        uint64_t n_made, made_bytes, n_freed, freed_bytes,
                foreign; /* foreign: freed here, made by another thread */
};

struct worker {
        pthread_t thread;
        uint32_t no;
        uint64_t rng;
        struct sums sums;
};

static struct worker workers[N_THREADS_MAX];
static uint32_t n_workers;
static uint64_t n_each;

static uint32_t random_bits(struct worker *w) {
        w->rng ^= w->rng << 13;
        w->rng ^= w->rng >> 7;
        w->rng ^= w->rng << 17;
        return (uint32_t)(w->rng >> 16);
}

/* Small ones mostly, as programs ask for; sizes lie apart for heaptrack's sake (loop.c). */
static __attribute__((noinline)) struct block *make(struct worker *w) {
        uint32_t r = random_bits(w),
                 size_bytes = 24 + 80 * ((r & 255) < 240 ? r >> 8 & 3 : r >> 8 & 15);
        struct block *b = malloc(size_bytes);

        if (!b)
                abort();
        *b = (struct block){.size_bytes = size_bytes, .maker = w->no};
        w->sums.n_made++;
        w->sums.made_bytes += size_bytes;
        return b;
}

static __attribute__((noinline)) void drop(struct worker *w, struct block *b) {
        if (!b)
                return;
        w->sums.n_freed++;
        w->sums.freed_bytes += b->size_bytes;
        w->sums.foreign += b->maker != w->no;
        free(b);
}

/* A queue of batches; makers wait when it is full, so that live blocks have a bound. */
static struct {
        pthread_mutex_t lock;
        pthread_cond_t has_room, has_batch;
        struct block *batches[N_QUEUE][N_BATCH];
        uint32_t n;
        uint32_t n_makers; /* that go on */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .has_room = PTHREAD_COND_INITIALIZER,
           .has_batch = PTHREAD_COND_INITIALIZER};

static void hand_on(struct block *const *batch) {
        pthread_mutex_lock(&queue.lock);
        while (queue.n == N_QUEUE)
                pthread_cond_wait(&queue.has_room, &queue.lock);
        memcpy(queue.batches[queue.n++], batch, sizeof(queue.batches[0]));
        pthread_cond_signal(&queue.has_batch);
        pthread_mutex_unlock(&queue.lock);
}

static void *make_batches(void *arg) {
        struct worker *w = arg;

        for (uint64_t n = 0; n < n_each; n += N_BATCH) {
                struct block *batch[N_BATCH];

                for (int i = 0; i < N_BATCH; i++)
                        batch[i] = make(w);
                hand_on(batch);
        }
        pthread_mutex_lock(&queue.lock);
        queue.n_makers--;
        pthread_cond_broadcast(&queue.has_batch);
        pthread_mutex_unlock(&queue.lock);
        return NULL;
}

static int take(struct block **batch) {
        int is_taken;

        pthread_mutex_lock(&queue.lock);
        while (queue.n == 0 && queue.n_makers)
                pthread_cond_wait(&queue.has_batch, &queue.lock);
        is_taken = queue.n > 0;
        if (is_taken)
                memcpy(batch, queue.batches[--queue.n], sizeof(queue.batches[0]));
        pthread_cond_signal(&queue.has_room);
        pthread_mutex_unlock(&queue.lock);
        return is_taken;
}

static void *free_batches(void *arg) {
        struct worker *w = arg;
        struct block *batch[N_BATCH];

        while (take(batch))
                for (int i = 0; i < N_BATCH; i++)
                        drop(w, batch[i]);
        return NULL;
}

static struct block *tables[N_THREADS_MAX][N_TABLE];
static pthread_barrier_t round_over;

static void *swap_tables(void *arg) {
        struct worker *w = arg;

        for (uint64_t n = 0; n < n_each; n += N_ROUND) {
                struct block **table = tables[(w->no + n / N_ROUND) % n_workers];

                for (int i = 0; i < N_ROUND; i++) {
                        struct block **place = &table[random_bits(w) % N_TABLE];

                        drop(w, *place);
                        *place = make(w);
                }
                pthread_barrier_wait(&round_over);
        }
        return NULL;
}

static void run(int is_hand) {
        queue.n_makers = n_workers / 2;
        pthread_barrier_init(&round_over, NULL, n_workers);
        for (uint32_t i = 0; i < n_workers; i++) {
                workers[i].no = i;
                workers[i].rng = 88172645463325252u * (2 * i + 1);
                if (pthread_create(&workers[i].thread, NULL,
                                   !is_hand     ? swap_tables
                                   : i % 2 == 0 ? make_batches
                                                : free_batches,
                                   &workers[i]) != 0)
                        abort();
        }
        for (uint32_t i = 0; i < n_workers; i++)
                pthread_join(workers[i].thread, NULL);
        for (uint32_t i = 0; i < n_workers; i++)
                for (int k = 0; k < N_TABLE; k++)
                        drop(&workers[0], tables[i][k]);
}

int main(int argc, char **argv) {
        int is_hand = argc > 1 && strcmp(argv[1], "hand") == 0;
        struct sums all = {0};

        n_workers = argc > 2 ? (uint32_t)atoi(argv[2]) : 4;
        n_each = argc > 3 ? (uint64_t)atoll(argv[3]) : 1000000;
        if (argc < 2 || n_workers < 2 || n_workers % 2 || n_workers > N_THREADS_MAX)
                return 2;
        run(is_hand);
        for (uint32_t i = 0; i < n_workers; i++) {
                all.n_made += workers[i].sums.n_made;
                all.made_bytes += workers[i].sums.made_bytes;
                all.n_freed += workers[i].sums.n_freed;
                all.freed_bytes += workers[i].sums.freed_bytes;
                all.foreign += workers[i].sums.foreign;
        }
        printf("%llu blocks, %llu bytes\n", (unsigned long long)all.n_made,
               (unsigned long long)all.made_bytes);
        if (all.n_made != all.n_freed || all.made_bytes != all.freed_bytes ||
            (is_hand && all.foreign != all.n_made)) {
                printf("freed: %llu blocks, %llu bytes, %llu of other threads\n",
                       (unsigned long long)all.n_freed, (unsigned long long)all.freed_bytes,
                       (unsigned long long)all.foreign);
                return 1;
        }
        return 0;
}
