/* SPDX-License-Identifier: MIT */
/* Threads with known places: a pool that waits for a condition and has touched 200 KB of each stack, some that have ended one after the other, whose stack
 * the C library keeps and gives to the next, and one that has its own name. Prints "ready" and waits for its input to end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_POOL = 12, N_SHORT = 4, TOUCHED = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t begun;

static void *wait_for_work(void *arg) {
        volatile char room[TOUCHED];

        for (unsigned i = 0; i < sizeof(room); i += 512)
                room[i] = 1;
        pthread_barrier_wait(&begun);
        pthread_mutex_lock(&lock);
        for (;;)
                pthread_cond_wait(&never, &lock);
        return arg;
}

static void *end_at_once(void *arg) {
        return malloc((size_t)arg);
}

static void *sleep_on(void *arg) {
        for (;;)
                pause();
        return arg;
}

static void start_pool(void) {
        pthread_t t;

        for (int i = 0; i < N_POOL; i++)
                if (pthread_create(&t, NULL, wait_for_work, NULL) != 0) /* the pool */
                        abort();
        pthread_barrier_wait(&begun);
}

static void run_short_ones(void) {
        pthread_t t;

        for (int i = 0; i < N_SHORT; i++) {
                if (pthread_create(&t, NULL, end_at_once, (void *)100) != 0) /* short ones */
                        abort();
                pthread_join(t, NULL);
        }
}

int main(void) {
        pthread_t t;
        char c;

        pthread_barrier_init(&begun, NULL, N_POOL + 1);
        start_pool();
        run_short_ones();
        if (pthread_create(&t, NULL, sleep_on, NULL) != 0)
                abort();
        pthread_setname_np(t, "sleeper");
        printf("ready\n");
        fflush(stdout);
        while (read(0, &c, 1) > 0)
                ;
        return 0;
}
