/* SPDX-License-Identifier: MIT */
/* Eight threads allocate and free on their own; all hold what they have at one barrier, the peak.
 *
 * Each thread: 1,000 blocks of 1..1000 bytes (500,500 bytes) in an array; barrier; frees them last
 * to first (the last one is temporary: its own last allocation); then 1,000 times malloc(64) and
 *   free: temporary. per thread  2,000 allocations, 2,000 frees, 564,500 bytes, 1,001 temporary
 * Main creates all eight before any passes the barrier: 8 TLS tables of D bytes, kept with the
 * cached stacks (8 stacks of 256 KiB fit the cache).
 *   peak: 8 * 500,500 + 8 * D in 8,008 blocks, since nobody frees before all have all. */
#include "truth.h"
#include <pthread.h>

#define N_THREADS 8
static pthread_barrier_t barrier;

static void *work(void *unused) {
        void *block[1001];

        for (int i = 1; i <= 1000; i++)
                MUST(block[i] = malloc(i));
        pthread_barrier_wait(&barrier); /* nobody frees before all have all */
        for (int i = 1000; i >= 1; i--)
                free(block[i]);
        for (int i = 0; i < 1000; i++)
                free(malloc(64));
        return unused;
}

int main(void) {
        pthread_t thread[N_THREADS];
        pthread_attr_t attr;

        pthread_barrier_init(&barrier, NULL, N_THREADS);
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 256 << 10) == 0);
        for (int i = 0; i < N_THREADS; i++)
                MUST(pthread_create(&thread[i], &attr, work, NULL) == 0);
        for (int i = 0; i < N_THREADS; i++)
                MUST(pthread_join(thread[i], NULL) == 0);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
