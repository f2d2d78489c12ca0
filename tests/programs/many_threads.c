/* SPDX-License-Identifier: MIT */
/* 300 threads alive at once. Each allocates 20 blocks of 25 bytes, meets all others at a barrier,
 * frees 19 in order of allocation (none temporary: the last one stays), and ends; its last block is
 * lost.
 *   allocations 300 * 20 + 300 TLS tables   frees 5,700   bytes 150,000 + 300 * D   temporary 0
 *   peak 150,000 + 300 * D in 6,300   end 7,500 + 300 * D in 600
 * Stacks of 128 KiB: all 300 (37.5 MiB) fit the cache, so no table is freed. */
#include "truth.h"
#include <pthread.h>

#define N_THREADS 300
static pthread_barrier_t barrier;

static void *work(void *unused) {
        void *block[20];

        for (int i = 0; i < 20; i++)
                MUST(block[i] = malloc(25));
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 19; i++)
                free(block[i]);
        return unused;
}

int main(void) {
        static pthread_t thread[N_THREADS];
        pthread_attr_t attr;

        pthread_barrier_init(&barrier, NULL, N_THREADS);
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 128 << 10) == 0);
        pthread_attr_setguardsize(&attr, 0);
        for (int i = 0; i < N_THREADS; i++)
                MUST(pthread_create(&thread[i], &attr, work, NULL) == 0);
        for (int i = 0; i < N_THREADS; i++)
                MUST(pthread_join(thread[i], NULL) == 0);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
