/* SPDX-License-Identifier: MIT */
/* `points MODE LABEL N_RAISES`: a signal arrives at the labelled point of the runtime, N_RAISES times at most, while
 * threads allocate, resize and release, libraries come and go, and processes fork. It needs a runtime built with
 * -Dsignal_points=true, which asks silt_point_reached below.
 *
 * The handler allocates twice, releases one, and looks at errno; what else it does is the mode:
 *   plain   nothing      deep   all of it 150 calls further down      nest   is interrupted itself, twice over
 *   jump    leaves by siglongjmp every second time      fork   a child goes on with what was interrupted, then ends
 *   clone   the same, and nothing else: a child that libc and silt are not told of
 * Jumps and forks happen only where the program could do them without silt: inside an allocation call of its own.
 *
 * It tells what its own calls and its handlers did; what libc allocates besides is the same in every run. LABEL "-"
 * raises nothing; MODE "list" prints the labels that were reached. */
#include "../programs/truth.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
        N_ROUNDS = 60,
        N_THREADS = 6,
        N_LIBRARIES = 4,
        N_LABELS_MAX = 256,
        ERRNO = 77,
        N_FIRST = 4,
        N_APART = 31
};

int silt_point_reached(const char *label);

static enum { PLAIN, DEEP, NEST, JUMP, FORK, CLONE, LIST } mode;
static const char *armed = "-";
static int
        counts_only; /* the point is on the way of samples: what is asked for in vain is no event that gets lost */
static struct {
        unsigned n;
        const char *items[N_LABELS_MAX];
} * labels; /* shared with the forked process */
static _Atomic unsigned long n_hits, n_raises_left, n_raised, n_child_raised, n_jumps, n_forks;
static _Atomic unsigned long n_allocs, n_frees, n_handler_allocs, n_handler_frees;
static volatile sig_atomic_t is_child;
static pid_t main_pid;

static __thread int handler_depth;
static __thread volatile sig_atomic_t is_open; /* it may jump or fork here */
static __thread volatile sig_atomic_t checks_errno;
static __thread sigjmp_buf back;

static int is_same(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        return *a == *b;
}

static void note_label(const char *label) {
        for (unsigned i = 0; i < labels->n; i++)
                if (is_same(labels->items[i], label))
                        return;
        MUST(labels->n < N_LABELS_MAX);
        labels->items[labels->n++] = label;
}

/* Called by the runtime. The first few times, then now and then. */
int silt_point_reached(const char *label) {
        unsigned long hit;

        if (mode == LIST && labels)
                note_label(label);
        if (is_child || !is_same(label, armed) || handler_depth >= (mode == NEST ? 3 : 1))
                return 0;
        hit = n_hits++;
        if ((hit >= N_FIRST && hit % N_APART) || n_raises_left == 0)
                return 0;
        n_raises_left--;
        n_raised++;
        n_child_raised += getpid() != main_pid;
        return SIGUSR1;
}

static void handle_simply(void) {
        volatile size_t too_much = SIZE_MAX;
        void *block;

        if (counts_only && mode != NEST)
                MUST(!malloc(too_much));
        MUST(malloc(24));
        block = malloc(40);
        MUST(block);
        free(block);
        n_handler_allocs += 2;
        n_handler_frees++;
}

__attribute__((noinline)) static void handle_deep(int levels) {
        if (levels > 0)
                handle_deep(levels - 1);
        else
                handle_simply();
        __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void handle_fork(void) {
        int status;
        pid_t pid = fork();

        MUST(pid >= 0);
        if (pid == 0) {
                MUST(malloc(24));
                is_child = 1;
                return; /* into whatever was interrupted */
        }
        MUST(waitpid(pid, &status, 0) == pid);
        if (status != 7 << 8)
                _exit(90);
        n_forks++;
}

static void handle_clone(void) {
        long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        int status;

        MUST(pid >= 0);
        if (pid == 0) {
                is_child = 1;
                return;
        }
        MUST(waitpid((pid_t)pid, &status, 0) == pid);
        if (status != 7 << 8)
                _exit(90);
        n_forks++;
}

static void on_signal(int sig) {
        int errno_before = errno;

        (void)sig;
        if (mode == CLONE) {
                if (is_open)
                        handle_clone();
                errno = errno_before;
                return;
        }
        if (checks_errno && errno != ERRNO)
                _exit(91);
        handler_depth++;
        if (mode == DEEP)
                handle_deep(150);
        else
                handle_simply();
        if (mode == FORK && is_open)
                handle_fork();
        handler_depth--;
        errno = errno_before;
        if (mode == JUMP && is_open && n_raised % 2) {
                n_jumps++;
                is_open = 0;
                siglongjmp(back, 1);
        }
}

static void end_child(void) {
        if (!is_child)
                return;
        if (mode != CLONE)
                MUST(malloc(48));
        _exit(7);
}

static void after_call(void) {
        if (errno != ERRNO)
                _exit(92);
        end_child();
}

__attribute__((noinline)) static void *allocate(unsigned chain, unsigned levels) {
        void *block;

        if (levels == 0)
                block = malloc(40 + chain);
        else if (chain & 1)
                block = allocate(chain >> 1, levels - 1);
        else
                block = allocate(chain >> 1, levels - 1);
        __asm__ volatile("" : "+r"(block)); /* no tail call */
        return block;
}

/* One block through all of malloc, realloc, realloc to another place, free; and one of calloc. */
static void do_round(unsigned round) {
        void *block, *other;

        if (sigsetjmp(back, 1)) {
                checks_errno = 0;
                return;
        }
        errno = ERRNO;
        is_open = checks_errno = 1;
        block = allocate(round, round % 7);
        n_allocs++;
        after_call();
        other = realloc(block, 500 + round);
        n_allocs++;
        n_frees++;
        after_call();
        block = calloc(3, 8 + round);
        n_allocs++;
        after_call();
        free(other);
        n_frees++;
        after_call();
        free(block);
        n_frees++;
        is_open = checks_errno = 0;
        MUST(other && block);
        end_child();
}

/* 640 places in the code, more than a thread's cache of rows holds at first. */
#define SITE                                                                                       \
        block = malloc(16);                                                                        \
        __asm__ volatile("" ::"r"(block) : "memory");                                              \
        free(block);
#define SITES_8 SITE SITE SITE SITE SITE SITE SITE SITE
#define SITES_64                                                                                   \
        SITES_8                                                                                    \
        SITES_8 SITES_8 SITES_8 SITES_8 SITES_8 SITES_8 SITES_8

static void *go_places(void *ctx) {
        void *block;

        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        SITES_64
        return ctx;
}

static void *work(void *ctx) {
        for (unsigned i = 0; i < N_ROUNDS; i++)
                do_round(i + (unsigned)(uintptr_t)ctx);
        return NULL;
}

static void fork_plainly(void) {
        int status;
        pid_t pid = fork();

        MUST(pid >= 0);
        if (pid == 0) {
                armed = "-";
                free(malloc(77));
                truth_say("child_events", 2 + 3 * n_child_raised);
                _exit(0);
        }
        MUST(waitpid(pid, &status, 0) == pid);
        if (status != 0)
                _exit(93);
}

/* What is loaded changes: rows are decoded and modules announced anew. */
static void change_modules(void) {
        void *library = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);

        if (library)
                dlclose(library);
}

static void run_threads(void) {
        pthread_t threads[N_THREADS];

        for (uintptr_t i = 0; i < N_THREADS; i++)
                MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
        for (unsigned i = 0; i < N_THREADS; i++)
                MUST(pthread_join(threads[i], NULL) == 0);
        MUST(pthread_create(&threads[0], NULL, go_places, NULL) == 0);
        MUST(pthread_join(threads[0], NULL) == 0);
}

static void read_arguments(int argc, char **argv) {
        static const char *const names[] = {"plain", "deep",  "nest", "jump",
                                            "fork",  "clone", "list"};

        MUST(argc == 4);
        for (unsigned i = 0; i < 7; i++)
                if (is_same(names[i], argv[1]))
                        mode = i;
        n_raises_left = strtoul(argv[3], NULL, 10);
        armed = argv[2];
        counts_only = strncmp(armed, "enter/", 6) == 0 || strncmp(armed, "hold/", 5) == 0;
}

int main(int argc, char **argv) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};

        MUST(sigaction(SIGUSR1, &action, NULL) == 0);
        labels = mmap(NULL, sizeof(*labels), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        MUST(labels != MAP_FAILED);
        main_pid = getpid();
        read_arguments(argc, argv);
        for (unsigned i = 0; i < N_LIBRARIES; i++) {
                change_modules();
                work(NULL);
        }
        run_threads();
        fork_plainly();
        armed = "-";
        for (unsigned i = 0; mode == LIST && i < labels->n; i++)
                truth_say(labels->items[i], 1);
        truth_say("allocations", n_allocs);
        truth_say("frees", n_frees);
        truth_say("handler_allocations", n_handler_allocs);
        truth_say("handler_frees", n_handler_frees);
        truth_say("raised", n_raised);
        truth_say("jumps", n_jumps);
        truth_say("forks", n_forks);
        return 0;
}
