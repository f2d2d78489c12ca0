/* SPDX-License-Identifier: MIT */
/* Destructors of pthread keys: they free and allocate when the thread is already on its way out.
 *
 * Keys from 32 on live in a second-level table that pthread_setspecific gets with calloc(32, 16) =
 * 512 bytes per thread and that the thread's end frees. Per thread, of 10 one after the other:
 *   malloc(100) for key 0, malloc(200) for key 39, for which the table comes: 512
 *   key 0's destructor frees its block, allocates 50 and sets the key again, which glibc allows for
 *   4 rounds: 4 frees, 4 allocations of 50, the last of them lost. Of the blocks it frees the first
 *   is not temporary, the other 3 are the thread's last allocation then: 3 temporary
 *   key 39's destructor frees the 200 in the first round; the table is freed after the rounds
 *   allocations 3 + 4 = 7   bytes 100 + 200 + 512 + 200 = 1,012   frees 4 + 1 + 1 = 6
 * One TLS table of D bytes. Peak: in the last thread before its end: 9 * 50 + 812 + D in 9 + 3 + 1
 * blocks. End: 500 + D in 11. */
#include "truth.h"
#include <pthread.h>

static pthread_key_t key[40];

static void again(void *block) {
        free(block);
        MUST(pthread_setspecific(key[0], malloc(50)) == 0);
}

static void *work(void *unused) {
        void *a = malloc(100), *b = malloc(200);
        MUST(pthread_setspecific(key[0], a) == 0);
        MUST(pthread_setspecific(key[39], b) == 0);
        return unused;
}

int main(void) {
        for (int i = 0; i < 40; i++)
                MUST(pthread_key_create(&key[i], i == 0 ? again : i == 39 ? free : NULL) == 0);
        MUST(key[0] < 32 && key[39] >= 32);
        for (int i = 0; i < 10; i++) {
                pthread_t thread;
                MUST(pthread_create(&thread, NULL, work, NULL) == 0);
                pthread_join(thread, NULL);
        }
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
