/* SPDX-License-Identifier: MIT */
/* One thread allocates, another frees: 200,000 blocks handed over a small queue, addresses reused
 * at once.
 *
 * The producer allocates blocks of 32 bytes, the consumer frees them; the queue holds 64, and a
 * block is in it before the consumer sees it. No block is released by the thread that allocated it:
 * 0 temporary.
 *   allocations 200,000 + 2 TLS tables   frees 200,000   bytes 6,400,000 + 2 * D   end 2 * D in 2
 * The consumer waits at first until 64 are there, and counts one taken only after its free, while
 * the producer allocates only when fewer than 64 are not taken: the peak is 64 blocks and both
 * tables, exactly. */
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>

#define N_BLOCKS 200000UL
#define N_QUEUE 64UL
static _Atomic unsigned long n_put, n_taken;
static void *_Atomic queue[N_QUEUE];

static void *produce(void *unused) {
        for (unsigned long i = 0; i < N_BLOCKS; i++) {
                while (i - atomic_load(&n_taken) >= N_QUEUE)
                        sched_yield();
                atomic_store(&queue[i % N_QUEUE], malloc(32));
                atomic_store(&n_put, i + 1);
        }
        return unused;
}

static void *consume(void *unused) {
        while (atomic_load(&n_put) < N_QUEUE)
                sched_yield();
        for (unsigned long i = 0; i < N_BLOCKS; i++) {
                while (atomic_load(&n_put) <= i)
                        sched_yield();
                free(atomic_load(&queue[i % N_QUEUE]));
                atomic_store(&n_taken, i + 1);
        }
        return unused;
}

int main(void) {
        pthread_t producer, consumer;
        pthread_attr_t attr;

        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 256 << 10) == 0);
        MUST(pthread_create(&producer, &attr, produce, NULL) == 0);
        MUST(pthread_create(&consumer, &attr, consume, NULL) == 0);
        pthread_join(producer, NULL);
        pthread_join(consumer, NULL);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
