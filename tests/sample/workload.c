/* SPDX-License-Identifier: MIT */
/* What tests/sample records: programs that do the same at each run. MODE SCALE. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 8, N_PASSED = 512 };

static void *volatile sink;
static _Atomic(void *) passed[N_PASSED]; /* from thread to thread */

__attribute__((noinline)) static void *small(unsigned i) {
        return sink = malloc(16 + i % 8 * 8); /* no tail call: the caller is to be this one */
}

__attribute__((noinline)) static void *medium(unsigned i) {
        return sink = malloc(1000 + i % 100 * 30);
}

__attribute__((noinline)) static void *large(void) {
        return sink = malloc(150000);
}

__attribute__((noinline)) static void brief(unsigned i) {
        sink = malloc(100 + i % 50);
        free(sink);
}

/* A heap that is built, half of it released, and some churn: by call path, size and lifetime all is known. */
static void build(unsigned n) {
        void **kept = calloc(n, sizeof(*kept));

        for (unsigned i = 0; i < n; i++)
                kept[i] = i % 1000 == 0 ? large() : i % 10 == 0 ? medium(i) : small(i);
        for (unsigned i = 0; i < n; i++)
                brief(i);
        for (unsigned i = 0; i < n; i += 2)
                free(kept[i]);
}

/* A level that is held: as many blocks as before, all of them others, again and again. Above them a few large ones. */
static void plateau(unsigned n) {
        void **kept = calloc(n, sizeof(*kept));

        for (unsigned i = 0; i < n / 1000; i++)
                sink = large();
        for (unsigned turn = 0; turn < 30; turn++)
                for (unsigned i = 0; i < n; i++) {
                        unsigned at = i * 7919u % n;

                        free(kept[at]);
                        kept[at] = at % 10 == 0 ? medium(at) : small(at);
                }
        free(sink); /* it ends below its peak */
}

/* Nothing but allocating, for so many milliseconds of CPU time. */
static void busy(unsigned ms) {
        while (clock() < (clock_t)ms * (CLOCKS_PER_SEC / 1000))
                for (unsigned i = 0; i < 1000; i++)
                        brief(i);
}

/* Every way to get memory, and to give it back. */
static void ways(unsigned i) {
        void *p[7] = {malloc(i % 300), calloc(3, i % 70), realloc(NULL, i % 200),
                      memalign(64, i % 500)};

        p[4] = aligned_alloc(32, 64);
        if (posix_memalign(&p[5], 128, i % 100))
                abort();
        p[6] = reallocarray(NULL, 5, i % 50 + 1);
        p[0] = realloc(p[0], i % 1000 + 1);
        p[2] = realloc(p[2], 10);
        sink = realloc(p[3], 0); /* a release */
        p[3] = NULL;
        if (i % 64 == 0 && malloc(SIZE_MAX / 2 - i))
                abort();
        if (i % 64 == 1 && realloc(p[1], SIZE_MAX / 2 - i))
                abort();
        for (unsigned k = 0; k < 7; k++) {
                unsigned at = (i * 7 + k) % N_PASSED;

                free(__atomic_exchange_n(&passed[at], p[k], __ATOMIC_ACQ_REL));
        }
}

static void *run_thread(void *n) {
        for (unsigned i = 0; i < (uintptr_t)n; i++)
                ways(i);
        return NULL;
}

static void threads(unsigned n) {
        pthread_t ids[N_THREADS];

        for (unsigned i = 0; i < N_THREADS; i++)
                if (pthread_create(&ids[i], NULL, run_thread, (void *)(uintptr_t)n))
                        abort();
        for (unsigned i = 0; i < N_THREADS; i++)
                pthread_join(ids[i], NULL);
}

static void forks(unsigned n) {
        for (unsigned i = 0; i < 5; i++) {
                pid_t child;

                run_thread((void *)(uintptr_t)n);
                child = fork();
                if (child == 0) {
                        run_thread((void *)(uintptr_t)(n + i));
                        _exit(0);
                }
                waitpid(child, NULL, 0);
        }
}

int main(int argc, char **argv) {
        const char *mode = argc > 2 ? argv[1] : "";
        unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

        if (strcmp(mode, "build") == 0)
                build(n);
        else if (strcmp(mode, "plateau") == 0)
                plateau(n);
        else if (strcmp(mode, "busy") == 0)
                busy(n);
        else if (strcmp(mode, "ways") == 0)
                run_thread((void *)(uintptr_t)n);
        else if (strcmp(mode, "threads") == 0)
                threads(n);
        else if (strcmp(mode, "forks") == 0)
                forks(n);
        else if (strcmp(mode, "killed") == 0) {
                threads(n);
                run_thread((void *)(uintptr_t)n);
                raise(SIGKILL);
        } else {
                return 2;
        }
        return 0;
}
