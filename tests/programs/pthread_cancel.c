/* SPDX-License-Identifier: MIT */
/* Threads cancelled while they wait: their cleanup handlers free what they hold.
 *
 * libc opens libgcc_s for the unwinding, with blocks of its own; the baseline cancels threads too.
 * 20 threads one after the other: each allocates 40 bytes, pushes a cleanup handler that frees it,
 * allocates 50 (lost), tells main by a semaphore and waits; main cancels and joins it.
 *   allocations +40   frees +20   bytes +1,800   temporary 0   end +1,000 in +20
 * Peak: a block of 1 MiB in both runs, allocated by the last thread after its two: +19 * 50 + 40 +
 * 50 in +21. */
#include "truth.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t ready;
static int baseline;

static void *wait_for_ever(void *is_last) {
        void *held = baseline ? NULL : malloc(40);

        pthread_cleanup_push(free, held);
        if (!baseline)
                MUST(malloc(50));
        if (is_last)
                MUST(malloc(1 << 20));
        sem_post(&ready);
        for (;;)
                pause();
        pthread_cleanup_pop(1);
        return NULL;
}

int main(int argc, char **argv) {
        baseline = truth_baseline(argc, argv);
        sem_init(&ready, 0, 0);
        for (int i = 0; i < 20; i++) {
                pthread_t thread;
                void *result;
                MUST(pthread_create(&thread, NULL, wait_for_ever, i == 19 ? &ready : NULL) == 0);
                while (sem_wait(&ready) != 0)
                        ;
                MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 &&
                     result == PTHREAD_CANCELED);
        }
        return 0;
}
