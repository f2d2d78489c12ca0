/* SPDX-License-Identifier: MIT */
/* Destructors of pthread keys: they free and allocate when the thread is already on its way out, in rounds.
 *
 * Keys 0..39; keys from 32 on live in a second-level table that pthread_setspecific gets with calloc(32, 16) =
 * 512 bytes per thread and that the thread's end frees.
 * Per thread, of 10 threads one after the other:
 *   key 0: malloc(100). Its destructor frees it (round 1), allocates 50 and sets the key again; in round 2 the
 *     destructor frees the 50, allocates 50, sets; rounds 3 and 4 alike (glibc makes 4 rounds): the block of the
 *     4th round is lost. 1 + 4 allocations, 4 frees.
 *   key 39: malloc(200), set: the table comes (512). Its destructor frees the 200 in round 1.
 *   The table is freed after the rounds.
 *   allocations 1 + 1 + 1 + 4 = 7   bytes 100 + 200 + 512 + 200 = 1,012   frees 4 + 1 + 1 = 6
 *   order: malloc 100, malloc 200, calloc 512; rounds: key 0 frees 100 (not temporary), allocates 50a; key 39 frees
 *   200; key 0 frees 50a (last allocation of the thread: temporary), 50b; frees 50b (temporary), 50c; frees 50c
 *   (temporary), 50d stays; 512 freed.   temporary 3
 * One TLS table of D bytes. Peak: in the last thread before its end: 9 * 50 + 812 + D in 9 + 3 + 1 blocks.
 * End: 500 + D in 11. */
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
