/* SPDX-License-Identifier: MIT */
/* What is temporary: released by the thread that allocated it, with no other allocation of its in
 * between. Each line is one step of main:
 *
 *   1  a = malloc, free(a)                           temporary
 *   2  a, b = malloc; free(b), free(a)               b only: a has b's allocation after it
 *   3  a, b = malloc; free(a), free(b)               b: releases in between do not matter
 *   4  a = malloc; failing malloc; free(NULL);       temporary: neither of the two is an
 *      free(a)                                       allocation
 *   5  a = malloc; realloc(a); b = malloc; free(a)   the first a, replaced at once; not the second
 *   6  strdup, free                                  temporary, 6 bytes
 *   7  calloc, free; memalign, free                  temporary both
 *   8  a = malloc; another thread allocates 1,000    temporary: its own thread allocated nothing
 *      blocks; free(a)
 *   9  a = malloc; the other thread frees a          not temporary
 * The thread is created before, so that its TLS table (D bytes, truth.h) stands at the start; main
 * and the thread take turns by semaphores, so every figure is exact.
 *
 * Sizes: 10 everywhere except strdup (6) and the thread's (1 byte each, kept: 1,000).
 *   allocations: D, 1, 2, 2, 1, 3, 1, 2, 1, 1,000, 1 = 1,015     failed 1   reallocations 1
 *   bytes: D + 10 * 13 + 6 + 1,000 (13 blocks of 10: 1 + 2 + 2 + 1 + 3 + 2 + 1 + 1)
 *   frees: 1 + 2 + 2 + 1 + 2 + 1 + 2 + 1 + 1 = 13; b of step 5 stays
 *   temporary: 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1 + 0 = 9
 *   end: D + 10 + 1,000 in 1,002; peak: 10 more in 1,003, in step 8 or 9 */
#include "truth.h"
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t go, done;
static char *handed;

static void *other(void *unused) {
        sem_wait(&go);
        for (int i = 0; i < 1000; i++)
                MUST(malloc(1));
        sem_post(&done);
        sem_wait(&go);
        free(handed);
        return unused;
}

int main(void) {
        pthread_t thread;
        volatile size_t max = SIZE_MAX;
        char *a, *b;

        sem_init(&go, 0, 0);
        sem_init(&done, 0, 0);
        MUST(pthread_create(&thread, NULL, other, NULL) == 0);

        a = malloc(10);
        free(a);

        a = malloc(10);
        b = malloc(10);
        free(b);
        free(a);

        a = malloc(10);
        b = malloc(10);
        free(a);
        free(b);

        a = malloc(10);
        MUST(!malloc(max));
        free(NULL);
        free(a);

        a = malloc(10);
        a = realloc(a, 10);
        b = malloc(10);
        MUST(b);
        free(a);

        free(strdup("silty"));
        free(calloc(2, 5));
        free(memalign(32, 10));

        a = malloc(10);
        sem_post(&go);
        sem_wait(&done);
        free(a);

        handed = malloc(10);
        sem_post(&go);
        MUST(pthread_join(thread, NULL) == 0);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
