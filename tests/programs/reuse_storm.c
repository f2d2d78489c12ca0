/* SPDX-License-Identifier: MIT */
/* Four threads on one arena without per-thread lists (the expectation's environment turns them
 * off): a block freed by one is the next one's a moment later, with only malloc's own lock between
 * the two.
 *
 * Each thread 40,000 times: allocate two of 64 bytes, free both in reverse: the second is
 * temporary, the first not. Nothing stays but the four TLS tables of D bytes.
 *   allocations 320,000 + 4   frees 320,000   bytes 320,000 * 64 + 4 * D   temporary 160,000
 * The peak depends on how many threads run at once: 2 to 8 blocks beside the tables; one thread may
 * even have ended before the next begins, but its table stays. */
#include "truth.h"
#include <pthread.h>

static void *work(void *unused) {
        for (int i = 0; i < 40000; i++) {
                void *a = malloc(64), *b = malloc(64);
                free(b);
                free(a);
        }
        return unused;
}

int main(void) {
        pthread_t thread[4];
        pthread_attr_t attr;

        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 256 << 10) == 0);
        for (int i = 0; i < 4; i++)
                MUST(pthread_create(&thread[i], &attr, work, NULL) == 0);
        for (int i = 0; i < 4; i++)
                pthread_join(thread[i], NULL);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
