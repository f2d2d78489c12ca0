/* SPDX-License-Identifier: MIT */
/* Threads that never allocate still ran: 50 of them at once, all of them waiting at a barrier, and
 * one that only frees what main gave it.
 *   allocations 1 block of 123 bytes by main and 51 TLS tables of D bytes by pthread_create (main's
 *   calls)
 *   frees 1 by the last thread: not temporary   threads 52 */
#include "truth.h"
#include <pthread.h>

static pthread_barrier_t barrier;

static void *idle(void *unused) {
        pthread_barrier_wait(&barrier);
        return unused;
}

static void *release(void *block) {
        pthread_barrier_wait(&barrier);
        free(block);
        return NULL;
}

int main(void) {
        pthread_t thread[51];
        pthread_attr_t attr;
        void *block = malloc(123);

        pthread_barrier_init(&barrier, NULL, 51);
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 128 << 10) == 0);
        for (int i = 0; i < 51; i++)
                MUST(pthread_create(&thread[i], &attr, i == 50 ? release : idle, block) == 0);
        for (int i = 0; i < 51; i++)
                pthread_join(thread[i], NULL);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
