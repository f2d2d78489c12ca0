/* SPDX-License-Identifier: MIT */
/* 4,000 threads, one after the other, each with three allocations.
 *
 * Each: malloc(100) freed (temporary), malloc(10) returned to main, which frees it after joining
 * (another thread: not temporary), malloc(1) kept by nobody: lost.
 *   allocations 3 * 4,000 + 1 TLS table of D bytes (one stack is reused all the time)
 *   frees 8,000   bytes 4,000 * 111 + D   temporary 4,000   end 4,000 + D bytes in 4,001
 *   peak: in the last thread with its 100: 3,999 lost ones + 100 + D in 4,001 */
#include "truth.h"
#include <pthread.h>

static void *work(void *unused) {
        (void)unused;
        free(malloc(100));
        void *p = malloc(10);
        MUST(malloc(1));
        return p;
}

int main(void) {
        for (int i = 0; i < 4000; i++) {
                pthread_t thread;
                void *p;
                MUST(pthread_create(&thread, NULL, work, NULL) == 0);
                MUST(pthread_join(thread, &p) == 0);
                free(p);
        }
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
