/* SPDX-License-Identifier: MIT */
/* fork while other threads allocate: the child has one thread, and inherits whatever lived at that
 * moment.
 *
 * Three threads each 20,000 times malloc(24) and free (temporary). Meanwhile a fourth thread forks
 * 10 children one after the other; each child allocates 5 blocks of 50 bytes, frees 2 of them (in
 * order: not the last) and ends by _exit.
 *   parent: allocations 60,000 + 4 TLS tables of D   frees 60,000   bytes 1,440,000 + 4 D
 *   temporary 60,000
 *   each child: allocations 5   frees 2   bytes 250   temporary 0   threads 1
 * A child's live blocks depend on what the other threads held at the fork: 0 to 3 of 24 bytes, and
 * 4 tables. */
#include "truth.h"
#include <pthread.h>
#include <sys/wait.h>

static pthread_barrier_t barrier;

static void *churn(void *unused) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 20000; i++)
                free(malloc(24));
        return unused;
}

static void *forker(void *unused) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 10; i++) {
                int status;
                pid_t child = fork();
                MUST(child >= 0);
                if (child == 0) {
                        void *block[5];
                        for (int k = 0; k < 5; k++)
                                MUST(block[k] = malloc(50));
                        free(block[0]);
                        free(block[1]);
                        _exit(0);
                }
                MUST(waitpid(child, &status, 0) == child && status == 0);
                if (i == 9)
                        truth_say("child", child);
        }
        return unused;
}

int main(void) {
        pthread_t thread[4];
        pthread_attr_t attr;

        pthread_barrier_init(&barrier, NULL, 4);
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 256 << 10) == 0);
        for (int i = 0; i < 4; i++)
                MUST(pthread_create(&thread[i], &attr, i == 3 ? forker : churn, NULL) == 0);
        for (int i = 0; i < 4; i++)
                pthread_join(thread[i], NULL);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
