/* SPDX-License-Identifier: MIT */
/* The program that runtime_test.c records: one way to use memory per word given. Each does a
 * number of things that the test knows. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x)) {                                                                        \
                        static const char must_[] = #x "\n";                                       \
                        _exit(write(2, must_, sizeof(must_) - 1) > 0 ? 99 : 98);                   \
                }                                                                                  \
        } while (0)

enum { N_LOOPS = 20000, N_SIGNALS = 500, SAY_FD = 30 };

static void run_family(void) {
        volatile size_t huge = (size_t)1 << 62; /* volatile: the compiler would refuse it */
        void *p = NULL;

        free(malloc(10));
        free(calloc(3, 7));
        free(realloc(realloc(NULL, 20), 30));
        free(reallocarray(NULL, 4, 10));
        free(memalign(64, 40));
        free(aligned_alloc(64, 64));
        MUST(posix_memalign(&p, 128, 50) == 0);
        free(p);
        free(valloc(60));
        free(pvalloc(70));
        MUST(realloc(malloc(5), 0) == NULL);
        errno = 0;
        MUST(malloc(huge) == NULL && errno == ENOMEM);
        MUST(calloc(huge, huge) == NULL && errno == ENOMEM);
        MUST(posix_memalign(&p, 3, 50) == EINVAL);
        p = malloc(100);
        MUST(malloc_usable_size(p) >= 100);
        MUST(realloc(p, huge) == NULL);
        free(NULL);
        errno = 77;
        free(malloc(9));
        MUST(errno == 77);
}

static void *churn(void *unused) {
        for (int i = 0; i < 1000; i++)
                free(malloc(16));
        return unused;
}

static void run_threads(void) {
        pthread_t thread[8];

        for (int i = 0; i < 8; i++)
                MUST(pthread_create(&thread[i], NULL, churn, NULL) == 0);
        for (int i = 0; i < 8; i++)
                pthread_join(thread[i], NULL);
}

/* Threads one after the other: their states and slots are used again. */
static void run_short_threads(void) {
        for (int i = 0; i < 2000; i++) {
                pthread_t thread;

                MUST(pthread_create(&thread, NULL, churn, NULL) == 0);
                pthread_join(thread, NULL);
        }
}

static void run_fork(void) {
        void *inherited = malloc(1000);
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                free(inherited);
                MUST(malloc(11));
                _exit(0);
        }
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
                free(inherited);
                MUST(malloc(12));
                syscall(SYS_exit_group, 0);
        }
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
        free(inherited);
}

/* ---- signals ----------------------------------------------------------------------------- */

static volatile sig_atomic_t n_handled;
static sigjmp_buf away;
static int leaves;

/* Maps and unmaps: hooks whose real functions may be interrupted anywhere. */
static void on_alarm(int sig) {
        void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(p != MAP_FAILED && munmap(p, 4096) == 0);
        n_handled++;
        if (leaves)
                siglongjmp(away, sig);
}

static void set_timer(int usec) {
        struct itimerval timer = {{0, usec}, {0, usec}};

        MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void say_handled(void) {
        char text[32];
        int n = snprintf(text, sizeof(text), "%d\n", (int)n_handled);

        MUST(write(SAY_FD, text, (size_t)n) == n);
}

static void run_signals(void) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

        MUST(sigaction(SIGALRM, &action, NULL) == 0);
        set_timer(50);
        while (n_handled < N_SIGNALS) {
                void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                MUST(p != MAP_FAILED);
        }
        set_timer(0);
        say_handled();
}

/* Handlers that never return: what they interrupted is left for ever. */
static void run_abandon(void) {
        sigset_t alarm;

        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        leaves = 1;
        /* The mask is not restored by the jump but after it: a signal that waits would come before
         * the jump, in a handler on top of the handler, without end. */
        if (sigsetjmp(away, 0) == 0 || n_handled < N_SIGNALS) {
                MUST(sigprocmask(SIG_UNBLOCK, &alarm, NULL) == 0);
                run_signals();
        }
        set_timer(0);
        leaves = 0;
        for (int i = 0; i < 100; i++)
                free(malloc(33));
        say_handled();
}

/* ---- other ------------------------------------------------------------------------------- */

static void run_loop(int n) {
        for (int i = 0; i < n; i++)
                free(malloc(24));
}

static void run_exec_without_environment(const char *self) {
        execle(self, self, "family", (char *)NULL, (char *[]){(char *)"A=b", NULL});
        MUST(0);
}

/* A C++ library that only this object sees. */
static void run_plugin(const char *path) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*use)(int);

        MUST(handle);
        use = (int (*)(int))dlsym(handle, "plugin_use");
        MUST(use && use(10) == 10);
        MUST(dlclose(handle) == 0);
}

static void run_mappings(void) {
        char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(p != MAP_FAILED);
        p = mremap(p, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
        MUST(p != MAP_FAILED && mprotect(p, 4096, PROT_NONE) == 0);
        MUST(mprotect(p + 1, 4096, PROT_NONE) < 0 && errno == EINVAL);
        MUST(munmap(p, 2 << 20) == 0);
        MUST(munmap((void *)1, 4096) < 0 && errno == EINVAL);
        MUST(sbrk(4096) != (void *)-1 && sbrk(-4096) != (void *)-1 && sbrk(0) != (void *)-1);
}

/* ---- how long a malloc and a free take ------------------------------------------------------- */

static double now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* not what others take */
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static volatile int n_returned;

__attribute__((noinline)) static double measure(int depth) {
        enum { N_PAIRS = 500000 };
        double begin, ns;

        if (depth > 0) {
                ns = measure(depth - 1);
                n_returned++; /* no tail call */
                return ns;
        }
        begin = now_ns();
        for (int i = 0; i < N_PAIRS; i++)
                free(malloc(32 + (size_t)(i & 63)));
        return (now_ns() - begin) / N_PAIRS;
}

/* The least of several, because the machine does other things too. */
static void run_bench(int depth) {
        double best = 1e9;

        for (int i = 0; i < 20; i++) {
                double ns = measure(depth - 5); /* run_bench, main and two of libc are frames too */

                best = ns < best ? ns : best;
        }
        printf("%.1f ns for a malloc and its free at depth %d\n", best, depth);
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "family") == 0)
                run_family();
        else if (strcmp(what, "threads") == 0)
                run_threads();
        else if (strcmp(what, "short_threads") == 0)
                run_short_threads();
        else if (strcmp(what, "fork") == 0)
                run_fork();
        else if (strcmp(what, "signals") == 0)
                run_signals();
        else if (strcmp(what, "abandon") == 0)
                run_abandon();
        else if (strcmp(what, "loop") == 0)
                run_loop(N_LOOPS);
        else if (strcmp(what, "long_loop") == 0)
                run_loop(100 * N_LOOPS);
        else if (strcmp(what, "exec") == 0)
                run_exec_without_environment(argv[0]);
        else if (strcmp(what, "plugin") == 0)
                run_plugin(argv[2]);
        else if (strcmp(what, "mappings") == 0)
                run_mappings();
        else if (strcmp(what, "bench") == 0)
                run_bench(argc > 2 ? atoi(argv[2]) : 16);
        else
                return 2;
        return 0;
}
