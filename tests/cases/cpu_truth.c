/* SPDX-License-Identifier: MIT */
/* Spends and waits in functions with names, and tells at its end what each of them took by its own clocks: lines "NAME NS". The
 * first argument names what it does. A thread's CPU time is the kernel's count for it, what a wait took is between two looks at the
 * monotonic clock. Functions call something after the call they are about, so that none of them leaves the stack early. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { MS = 1000000 };

static volatile uint64_t sink;

static int64_t clock_ns(clockid_t id) {
        struct timespec t;

        clock_gettime(id, &t);
        return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static int64_t cpu_ns(void) {
        return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t wall_ns(void) {
        return clock_ns(CLOCK_MONOTONIC);
}

/* Of all threads and of children that ended. */
static int64_t used_ns(int who) {
        struct rusage u;

        getrusage(who, &u);
        return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 * MS +
               ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void tell(const char *name, int64_t ns) {
        printf("%s %lld\n", name, (long long)ns);
        fflush(stdout);
}

/* ---- spending ---------------------------------------------------------------------------------- */

/* A function of its own for each name: about `ns` of CPU time within it. The clock is a call of the kernel: it is asked once in
 * about a tenth of a millisecond. Returns what it took. */
#define SPENDER(name, step)                                                                        \
        APART static int64_t name(int64_t ns) {                                                    \
                int64_t begin = cpu_ns(), now;                                                     \
                                                                                                   \
                do {                                                                               \
                        for (uint64_t i = 0; i < 100000; i++)                                      \
                                sink = sink * 6364136223846793005ull + (step);                     \
                        now = cpu_ns();                                                            \
                } while (now - begin < ns);                                                        \
                return now - begin;                                                                \
        }

SPENDER(spend_much, 1)
SPENDER(spend_some, 3)
SPENDER(spend_little, 5)
SPENDER(spend_short, 7)
SPENDER(spend_crowd, 9)
SPENDER(spend_child, 11)
SPENDER(spend_deep, 13)
SPENDER(spend_forever, 15)

APART static int64_t left(int64_t ns) {
        int64_t took = spend_much(ns);

        sink += (uint64_t)took;
        return took;
}

APART static int64_t right(int64_t ns, int64_t *ret_some) {
        int64_t took = spend_much(ns / 2);

        *ret_some += spend_some(ns);
        sink += (uint64_t)took;
        return took;
}

/* In turns, so that no function has a time of its own. */
static void split(long turns) {
        int64_t much_left = 0, much_right = 0, some = 0, little = 0;

        for (long i = 0; i < turns; i++) {
                much_left += left(10 * MS);
                much_right += right(6 * MS, &some);
                little += spend_little(1 * MS);
        }
        tell("left", much_left);
        tell("right", much_right + some);
        tell("spend_much", much_left + much_right);
        tell("spend_some", some);
        tell("spend_little", little);
        tell("all", used_ns(RUSAGE_SELF));
}

/* Half of it in one function, then half in another. */
static void phases(long ms) {
        tell("spend_much", spend_much(ms * MS));
        tell("spend_some", spend_some(ms * MS));
        tell("all", used_ns(RUSAGE_SELF));
}

/* ---- calls within calls ------------------------------------------------------------------------ */

APART static int64_t narrow(long depth, int64_t ns) {
        int64_t took = depth > 1 ? narrow(depth - 1, ns) : spend_deep(ns);

        sink += (uint64_t)took;
        return took;
}

/* Frames of 2 KiB: a few hundred are far more than any copy of the stack holds. */
APART static int64_t wide(long depth, int64_t ns) {
        volatile char room[2048];
        int64_t took;

        room[depth % (long)sizeof(room)] = 1;
        took = depth > 1 ? wide(depth - 1, ns) : spend_deep(ns);
        sink += (uint64_t)took + (uint64_t)room[depth % (long)sizeof(room)];
        return took;
}

static void recursion(long depth, bool is_wide) {
        int64_t took = is_wide ? wide(depth, 300 * MS) : narrow(depth, 300 * MS);

        tell(is_wide ? "wide" : "narrow", took);
        tell("spend_deep", took);
        tell("all", used_ns(RUSAGE_SELF));
}

APART static int64_t deep_left(int64_t ns) {
        int64_t took = wide(40, ns);

        sink += (uint64_t)took;
        return took;
}

APART static int64_t deep_right(int64_t ns) {
        int64_t took = wide(40, ns);

        sink += (uint64_t)took;
        return took;
}

/* The same deep stack in turn from two callers: who looks a little later sees the other one. */
static void callers(long turns) {
        int64_t left_ns = 0, right_ns = 0;

        for (long i = 0; i < turns; i++) {
                left_ns += deep_left(3 * MS);
                right_ns += deep_right(12 * MS);
        }
        tell("deep_left", left_ns);
        tell("deep_right", right_ns);
        tell("spend_deep", left_ns + right_ns);
        tell("all", used_ns(RUSAGE_SELF));
}

/* ---- threads and processes --------------------------------------------------------------------- */

static void *short_thread(void *arg) {
        *(int64_t *)arg = spend_short(2 * MS);
        return NULL;
}

/* One after the other, each gone before the next. */
static void short_threads(long n) {
        int64_t sum = 0;

        for (long i = 0; i < n; i++) {
                pthread_t thread;
                int64_t took = 0;

                if (pthread_create(&thread, NULL, short_thread, &took))
                        exit(3);
                pthread_join(thread, NULL);
                sum += took;
        }
        tell("spend_short", sum);
        tell("all", used_ns(RUSAGE_SELF));
}

static pthread_barrier_t gate;

static void *crowd_thread(void *arg) {
        char name[16];

        snprintf(name, sizeof(name), "crowd-%d", (int)(*(int64_t *)arg));
        pthread_setname_np(pthread_self(), name);
        pthread_barrier_wait(&gate);
        *(int64_t *)arg = spend_crowd(2 * MS);
        pthread_barrier_wait(&gate);
        return NULL;
}

/* All alive at once. */
static void crowd(long n) {
        pthread_t *threads = calloc((size_t)n, sizeof(*threads));
        int64_t *took = calloc((size_t)n, sizeof(*took)), sum = 0;

        pthread_barrier_init(&gate, NULL, (unsigned)n);
        for (long i = 0; i < n; i++) {
                took[i] = i;
                if (pthread_create(&threads[i], NULL, crowd_thread, &took[i]))
                        exit(3);
        }
        for (long i = 0; i < n; i++) {
                pthread_join(threads[i], NULL);
                sum += took[i];
        }
        free(threads);
        free(took);
        tell("spend_crowd", sum);
        tell("all", used_ns(RUSAGE_SELF));
}

/* Children one after the other, each with a child of its own. */
static void forks(long n) {
        int64_t sum = 0;

        for (long i = 0; i < n; i++) {
                int fds[2], status;
                int64_t took;
                pid_t pid;

                if (pipe(fds) != 0 || (pid = fork()) < 0)
                        exit(3);
                if (pid == 0) {
                        pid_t inner = fork();
                        if (inner == 0) {
                                took = spend_child(20 * MS);
                                _exit(write(fds[1], &took, sizeof(took)) != sizeof(took));
                        }
                        took = spend_child(20 * MS);
                        status = write(fds[1], &took, sizeof(took)) != sizeof(took);
                        waitpid(inner, NULL, 0);
                        _exit(status);
                }
                close(fds[1]);
                while (read(fds[0], &took, sizeof(took)) == sizeof(took))
                        sum += took;
                close(fds[0]);
                waitpid(pid, &status, 0);
        }
        tell("spend_child", sum);
        tell("all", used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN));
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to_reader[2];
static int64_t unlocked_ns, written_ns;

static void sleep_ms(long ms) {
        struct timespec left = {ms / 1000, ms % 1000 * MS};

        while (nanosleep(&left, &left) != 0)
                ;
}

APART static int64_t wait_sleeping(long ms) {
        int64_t begin = wall_ns();

        sleep_ms(ms);
        return wall_ns() - begin;
}

APART static int64_t wait_locked(int64_t *ret_begin) {
        *ret_begin = wall_ns();
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        return wall_ns() - *ret_begin;
}

APART static int64_t wait_reading(int64_t *ret_begin) {
        char c;

        *ret_begin = wall_ns();
        if (read(to_reader[0], &c, 1) != 1)
                exit(3);
        return wall_ns() - *ret_begin;
}

/* Holds what the other waits for until it has waited for a while. */
APART static void *holder(void *arg) {
        pthread_mutex_lock(&lock);
        pthread_barrier_wait(&gate);
        sleep_ms(200);
        unlocked_ns = wall_ns();
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&gate);
        sleep_ms(150);
        written_ns = wall_ns();
        if (write(to_reader[1], "x", 1) != 1)
                exit(3);
        return arg;
}

/* "_least": when what was waited for came, counted from the begin of the wait. What is beyond is how long it then took to run. */
static void waits(void) {
        int64_t begin, took;
        pthread_t thread;

        if (pipe(to_reader) != 0)
                exit(3);
        pthread_barrier_init(&gate, NULL, 2);
        if (pthread_create(&thread, NULL, holder, NULL))
                exit(3);
        pthread_barrier_wait(&gate);
        took = wait_locked(&begin);
        tell("wait_locked", took);
        tell("wait_locked_least", unlocked_ns - begin);
        pthread_barrier_wait(&gate);
        took = wait_reading(&begin);
        tell("wait_reading", took);
        tell("wait_reading_least", written_ns - begin);
        pthread_join(thread, NULL);
        tell("wait_sleeping", wait_sleeping(300));
        tell("wait_sleeping_least", 300ll * MS);
        tell("spend_some", spend_some(100 * MS));
        tell("all", used_ns(RUSAGE_SELF));
}

static int to_echo[2];

APART static void *echo(void *arg) {
        char c;

        while (read(to_echo[0], &c, 1) == 1 && write(to_reader[1], &c, 1) == 1)
                ;
        return arg;
}

/* So many, as short as can be. */
APART static int64_t wait_often(int n) {
        int64_t begin = wall_ns();
        char c = 'x';

        while (n-- > 0)
                if (write(to_echo[1], &c, 1) != 1 || read(to_reader[0], &c, 1) != 1)
                        exit(3);
        return wall_ns() - begin;
}

/* Waits that are neither short nor long, each behind hundreds of short ones. */
static void mixed(int n) {
        int64_t often = 0, sleeping = 0;
        pthread_t thread;

        if (pipe(to_reader) != 0 || pipe(to_echo) != 0 || pthread_create(&thread, NULL, echo, NULL))
                exit(3);
        for (int i = 0; i < n; i++) {
                often += wait_often(300);
                sleeping += wait_sleeping(5);
        }
        close(to_echo[1]);
        pthread_join(thread, NULL);
        tell("wait_often", often);
        tell("wait_sleeping", sleeping);
        tell("all", used_ns(RUSAGE_SELF));
}

/* Two threads that wake each other all the time, and nothing else. */
static void pingpong(int n) {
        pthread_t thread;
        struct rusage u;

        if (pipe(to_reader) != 0 || pipe(to_echo) != 0 || pthread_create(&thread, NULL, echo, NULL))
                exit(3);
        tell("wait_often", wait_often(n));
        close(to_echo[1]);
        pthread_join(thread, NULL);
        getrusage(RUSAGE_SELF, &u);
        tell("switches", u.ru_nvcsw);
        tell("all", used_ns(RUSAGE_SELF));
}

/* ---- being stopped ----------------------------------------------------------------------------- */

/* Busy until there is a file of that name, or for a minute. */
static int until(const char *path) {
        int64_t took = 0;

        tell("ready", getpid());
        while (access(path, F_OK) != 0 && took < 60000ll * MS)
                took += spend_forever(5 * MS);
        tell("spend_forever", took);
        return 17;
}

/* A number for each millisecond of CPU time until it is killed. */
static void killed(void) {
        int64_t took = 0;

        while (took < 400ll * MS)
                took += spend_forever(5 * MS);
        tell("spend_forever", took);
        raise(SIGKILL);
}

/* ---- another program ---------------------------------------------------------------------------- */

static void *run_instead(void *words) {
        execv("/proc/self/exe", words);
        return NULL;
}

/* A thread that is not the first runs it. */
static void run_beside(char **words) {
        pthread_t one;

        pthread_create(&one, NULL, run_instead, words);
        pause();
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";
        long n = argc > 2 ? atol(argv[2]) : 0;

        if (strcmp(what, "split") == 0)
                split(n);
        else if (strcmp(what, "phases") == 0)
                phases(n);
        else if (strcmp(what, "narrow") == 0 || strcmp(what, "wide") == 0)
                recursion(n, what[0] == 'w');
        else if (strcmp(what, "callers") == 0)
                callers(n);
        else if (strcmp(what, "short") == 0)
                short_threads(n);
        else if (strcmp(what, "crowd") == 0)
                crowd(n);
        else if (strcmp(what, "forks") == 0)
                forks(n);
        else if (strcmp(what, "waits") == 0)
                waits();
        else if (strcmp(what, "mixed") == 0)
                mixed(n);
        else if (strcmp(what, "pingpong") == 0)
                pingpong((int)n);
        else if (strcmp(what, "until") == 0 && argc > 2)
                return until(argv[2]);
        else if (strcmp(what, "beside") == 0)
                run_beside(argv + 1);
        else if (strcmp(what, "killed") == 0)
                killed();
        else
                return 2;
        return 0;
}
