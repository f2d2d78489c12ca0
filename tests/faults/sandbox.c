/* SPDX-License-Identifier: MIT */
/* A program that is killed at any system call but those that malloc, threads and fork make by themselves: it does not
 * even ask for its own id. 300 threads one after the other, 4 at once, a child with a thread. It tells its allocations,
 * with the TLS tables that libc keeps for at most 4 threads. Status 17. */
#include "../programs/filter.h"
#include <pthread.h>
#include <sys/wait.h>

enum { N_ROUNDS = 100, N_SHORT = 300, N_AT_ONCE = 4 };

static void confine(void) {
        struct sock_filter calls[] = {
                FILTER_BEGIN,
                FILTER_MALLOCS_CALLS,
                FILTER_ALLOW(exit),
                FILTER_ALLOW(clone),
                FILTER_ALLOW(clone3),
                FILTER_ALLOW(rseq),
                FILTER_ALLOW(set_robust_list),
                FILTER_ALLOW(rt_sigprocmask),
                FILTER_ALLOW(rt_sigaction),
                FILTER_ALLOW(sched_getaffinity),
                FILTER_ALLOW(wait4),
                FILTER_END,
        };

        filter_apply(calls, sizeof(calls));
}

static void *work(void *ctx) {
        for (int i = 0; i < N_ROUNDS; i++)
                free(malloc(30));
        return ctx;
}

static void run_threads(unsigned n) {
        pthread_t threads[N_AT_ONCE];

        for (unsigned i = 0; i < n; i++)
                MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
        for (unsigned i = 0; i < n; i++)
                MUST(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
        int status;
        pid_t child;

        MUST(malloc(5));
        confine();
        for (int i = 0; i < N_SHORT; i++)
                run_threads(1);
        run_threads(N_AT_ONCE);
        child = fork();
        MUST(child >= 0);
        if (child == 0) {
                work(NULL);
                run_threads(1);
                _exit(0);
        }
        MUST(wait4(child, &status, 0, NULL) == child && status == 0);
        truth_say("allocations", 1 + (N_SHORT + N_AT_ONCE) * N_ROUNDS + N_AT_ONCE);
        truth_say("frees", (N_SHORT + N_AT_ONCE) * N_ROUNDS);
        truth_say("child_allocations", 2 * N_ROUNDS);
        _exit(17);
}
