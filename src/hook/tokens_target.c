/* SPDX-License-Identifier: MIT */
/* The program that tokens_test.c records: it allocates by many call paths, and the size says by which. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x)) {                                                                        \
                        static const char must_[] = #x "\n";                                       \
                        _exit(write(2, must_, sizeof(must_) - 1) > 0 ? 99 : 98);                   \
                }                                                                                  \
        } while (0)

enum { LEVELS = 8, N_PATHS = 6561, FIRST_BYTES = 10000, STRIDE = 2477, N_JUMPS = 300 };

static volatile unsigned n_returned;

/* Three calls on each of eight levels: 6,561 paths. What follows them keeps the compiler from making one call of them, or a
 * jump. */
__attribute__((noinline)) static void descend(unsigned path, unsigned level, size_t size_bytes) {
        if (level == 0) {
                free(size_bytes % 2 ? malloc(size_bytes) : calloc(1, size_bytes));
        } else if (path % 3 == 0) {
                descend(path / 3, level - 1, size_bytes);
                n_returned += 1;
        } else if (path % 3 == 1) {
                descend(path / 3, level - 1, size_bytes);
                n_returned += 2;
        } else {
                descend(path / 3, level - 1, size_bytes);
                n_returned += 3;
        }
}

static void allocate_by(unsigned path) {
        descend(path, LEVELS, FIRST_BYTES + path);
        n_returned++;
}

/* First a few paths again and again, then all, one after the other in an order that keeps few frames. */
static void run_paths(unsigned n_few, unsigned n) {
        for (unsigned i = 0; i < n_few + n; i++)
                allocate_by(i < n_few ? i % 5 : i * STRIDE % N_PATHS);
}

static void *thread_paths(void *unused) {
        run_paths(500, 500);
        return unused;
}

static void run_threads(void) {
        for (int i = 0; i < 50; i++) {
                pthread_t thread[4];

                for (int j = 0; j < 4; j++)
                        MUST(pthread_create(&thread[j], NULL, thread_paths, NULL) == 0);
                for (int j = 0; j < 4; j++)
                        pthread_join(thread[j], NULL);
        }
}

static void fork_paths(bool is_vfork) {
        int status = 0;
        pid_t pid = is_vfork ? vfork() : fork();

        MUST(pid >= 0);
        if (pid == 0 && is_vfork)
                _exit(0);
        run_paths(200, 200);
        if (pid == 0)
                _exit(0);
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Parent and child go on from the same tables. Both by the same call, so that sizes say the path in both. */
static void run_forks(void) {
        for (int i = 0; i < 20; i++)
                fork_paths(i % 2);
}

/* ---- handlers that leave ----------------------------------------------------------------- */

static sigjmp_buf away;
static volatile sig_atomic_t n_jumps;

static void on_alarm(int sig) {
        void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(p != MAP_FAILED && munmap(p, 4096) == 0);
        n_jumps++;
        siglongjmp(away, sig);
}

/* Mappings by many paths, since free and malloc of libc must not be left in the middle. */
__attribute__((noinline)) static void map_by(unsigned path, unsigned level, size_t size_bytes) {
        if (level == 0) {
                MUST(mmap(NULL, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0) != MAP_FAILED);
        } else if (path % 3 == 0) {
                map_by(path / 3, level - 1, size_bytes);
                n_returned += 1;
        } else if (path % 3 == 1) {
                map_by(path / 3, level - 1, size_bytes);
                n_returned += 2;
        } else {
                map_by(path / 3, level - 1, size_bytes);
                n_returned += 3;
        }
}

static void run_jumps(void) {
        struct sigaction action = {.sa_handler = on_alarm};
        struct itimerval timer = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
        static volatile unsigned i;
        sigset_t alarm;

        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        MUST(sigaction(SIGALRM, &action, NULL) == 0);
        MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
        sigsetjmp(away, 0);
        MUST(sigprocmask(SIG_UNBLOCK, &alarm, NULL) == 0);
        while (n_jumps < N_JUMPS) {
                unsigned path = i++ % 40;

                map_by(path, 4, (FIRST_BYTES + path) * 4096ul);
        }
        MUST(sigprocmask(SIG_BLOCK, &alarm, NULL) == 0);
        MUST(setitimer(ITIMER_REAL, &none, NULL) == 0);
}

/* ---- other code at the same addresses ---------------------------------------------------- */

static void run_reload(const char *one, const char *other) {
        void *before = NULL;
        unsigned n_same = 0;

        for (int i = 0; i < 40; i++) {
                void *handle = dlopen(i % 2 ? one : other, RTLD_NOW | RTLD_LOCAL);
                int (*use)(int) = handle ? (int (*)(int))dlsym(handle, "plugin_use") : NULL;

                MUST(use && use(50) == 50);
                n_same += (void *)use == before;
                before = (void *)use;
                MUST(dlclose(handle) == 0);
        }
        /* Else the test shows nothing. What the runtime itself maps meanwhile may take the place now and then. */
        MUST(n_same >= 20);
}

/* ---- very deep --------------------------------------------------------------------------- */

__attribute__((noinline)) static void recurse(unsigned depth) {
        if (depth > 0)
                recurse(depth - 1);
        if (depth % 7 == 0)
                free(malloc(32));
        n_returned++;
}

/* Stacks of other records, and one call of two functions: two forms of the same stack. */
static void run_forms(void) {
        void *(*volatile forms[2])(size_t) = {malloc, valloc};

        for (unsigned i = 0; i < 100; i++) {
                void *p = aligned_alloc(64, 64), *q = realloc(p, 128 + i);

                free(realloc(q, 300));
                for (unsigned k = 0; k < 2; k++)
                        free(forms[k](500));
        }
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "paths") == 0)
                run_paths(0, 8 * N_PATHS);
        else if (strcmp(what, "few") == 0)
                run_paths(50000, 0);
        else if (strcmp(what, "long") == 0)
                run_paths(0, 100 * N_PATHS);
        else if (strcmp(what, "threads") == 0)
                run_threads();
        else if (strcmp(what, "forks") == 0)
                run_forks();
        else if (strcmp(what, "jumps") == 0)
                run_jumps();
        else if (strcmp(what, "reload") == 0 && argc > 3)
                run_reload(argv[2], argv[3]);
        else if (strcmp(what, "deep") == 0)
                for (unsigned i = 0; i < 40; i++)
                        recurse(40 + i * 67);
        else if (strcmp(what, "forms") == 0)
                run_forms();
        else
                return 2;
        return 0;
}
