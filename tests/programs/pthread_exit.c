/* SPDX-License-Identifier: MIT */
/* main leaves by pthread_exit and the process goes on in a second thread, which ends it.
 *
 * pthread_exit makes libc open libgcc_s for unwinding, with blocks of its own: the baseline does
 * the same. main: malloc(100), free (temporary), malloc(30) kept, pthread_exit. The thread, after
 * joining main: 500 blocks of 10 bytes, frees 499 of them in order: the very last is kept, so none
 * is temporary; returns, which ends the process with status 0, after atexit functions: one
 * allocates 60.
 *   allocations +503   frees +500   bytes +100 + 30 + 5,000 + 60 = +5,190   temporary +1   end +30
 *   + 10 + 60 in +3
 * Peak: a block of 1 MiB in both runs, allocated by the thread after its 500 and kept, puts both
 * peaks where the 500 are live; nothing is freed after the loader's work and before: +30 + 5,000 in
 * +501. */
#include "truth.h"
#include <pthread.h>

static int baseline;

static void at_exit(void) {
        if (!baseline)
                MUST(malloc(60));
}

static void *go_on(void *main_thread) {
        void *block[500];

        MUST(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
        for (int i = 0; i < 500 && !baseline; i++)
                MUST(block[i] = malloc(10));
        MUST(malloc(1 << 20));
        for (int i = 0; i < 499 && !baseline; i++)
                free(block[i]);
        return NULL;
}

int main(int argc, char **argv) {
        static pthread_t self, thread;

        baseline = truth_baseline(argc, argv);
        self = pthread_self();
        MUST(atexit(at_exit) == 0);
        MUST(pthread_create(&thread, NULL, go_on, &self) == 0);
        if (!baseline) {
                free(malloc(100));
                MUST(malloc(30));
        }
        pthread_exit(NULL);
}
