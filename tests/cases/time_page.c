/* SPDX-License-Identifier: MIT */
/* Runs in one function that allocates and in one that does not, and waits in a third all the time. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static _Atomic int is_over;

static double cpu_s(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Until the thread has run so long altogether. */
__attribute__((noinline)) static uint64_t spin_alone(double until_s) {
        volatile uint64_t x = 1;

        while (cpu_s() < until_s)
                for (unsigned i = 0; i < 20000; i++)
                        x = x * 6364136223846793005u + 1;
        return x;
}

__attribute__((noinline)) static uint64_t spin_and_allocate(double until_s) {
        volatile uint64_t x = 1;

        while (cpu_s() < until_s) {
                void *p = malloc(1000);

                for (unsigned i = 0; i < 20000; i++)
                        x = x * 6364136223846793005u + 1;
                free(p);
        }
        return x;
}

__attribute__((noinline)) static void *wait_alone(void *ctx) {
        struct timespec t = {.tv_nsec = 20000000};

        while (!is_over)
                nanosleep(&t, NULL);
        return ctx;
}

int main(void) {
        pthread_t thread;
        uint64_t x = 0;

        pthread_create(&thread, NULL, wait_alone, NULL);
        for (int i = 1; i <= 4; i++) {
                x += spin_alone(i * 0.2 - 0.05);
                x += spin_and_allocate(i * 0.2);
        }
        is_over = 1;
        pthread_join(thread, NULL);
        return x == 42;
}
