/* SPDX-License-Identifier: MIT */
/* `handlers SOURCE MS`: a thread that allocates in its signal handlers only, 10,000 times a second for MS milliseconds,
 * while another thread and the handlers' own releases keep the allocator busy. SOURCE: timer (timer_create with the
 * thread as receiver), itimer (ITIMER_REAL, one thread), tgkill (a second thread sends).
 *
 * The interrupted thread computes and calls nothing of libc, so that glibc's malloc may be called from its handlers.
 * Each handler: malloc of 16 to 271 bytes, kept in a table of 64; what was in its place is released. The program tells
 * how many allocations, releases and handlers there were, and the sum of the sizes. Status 31. */
#include "../programs/truth.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { N_KEPT = 64, PERIOD_NS = 100000 };

static void *kept[N_KEPT];
static volatile unsigned long n_handled, n_frees, n_bytes;
static _Atomic int is_over, receiver_tid;
static unsigned long duration_ms;
static const char *source;

static unsigned long now_ms(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void on_signal(int sig) {
        unsigned long n = n_handled, size = 16 + n % 256;
        void **place = &kept[n * 7 % N_KEPT];

        (void)sig;
        if (is_over)
                return;
        if (*place) {
                free(*place);
                n_frees++;
        }
        *place = malloc(size);
        MUST(*place);
        memset(*place, (int)n, 16);
        n_bytes += size;
        n_handled = n + 1;
}

static void start_timer(timer_t *ret) {
        struct itimerspec every = {{0, PERIOD_NS}, {0, PERIOD_NS}};
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};

        event._sigev_un._tid = (int)syscall(SYS_gettid);
        MUST(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, ret) == 0);
        MUST(syscall(SYS_timer_settime, *(int *)ret, 0, &every, NULL) == 0);
}

/* The thread that is interrupted. */
static void *receive(void *ctx) {
        struct itimerval every = {{0, PERIOD_NS / 1000}, {0, PERIOD_NS / 1000}},
                         never = {{0, 0}, {0, 0}};
        unsigned long end = now_ms() + duration_ms;
        volatile unsigned long spun = 0;
        timer_t timer;

        receiver_tid = (int)syscall(SYS_gettid);
        if (strcmp(source, "timer") == 0)
                start_timer(&timer);
        else if (strcmp(source, "itimer") == 0)
                MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
        while (now_ms() < end)
                for (int i = 0; i < 1000; i++)
                        spun++;
        is_over = 1;
        MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
        return ctx;
}

static void *send(void *ctx) {
        struct timespec rest = {0, PERIOD_NS / 4};

        while (!is_over) {
                if (receiver_tid)
                        syscall(SYS_tgkill, getpid(), receiver_tid, SIGUSR1);
                nanosleep(&rest, NULL);
        }
        return ctx;
}

int main(int argc, char **argv) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        pthread_t receiver, sender;
        int has_sender;

        MUST(argc == 3);
        source = argv[1];
        duration_ms = strtoul(argv[2], NULL, 10);
        has_sender = strcmp(source, "tgkill") == 0;
        MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
        if (has_sender)
                MUST(pthread_create(&sender, NULL, send, NULL) == 0);
        if (strcmp(source, "itimer") == 0)
                receive(NULL);
        else {
                MUST(pthread_create(&receiver, NULL, receive, NULL) == 0);
                MUST(pthread_join(receiver, NULL) == 0);
        }
        if (has_sender)
                MUST(pthread_join(sender, NULL) == 0);
        truth_say("handled", n_handled);
        truth_say("frees", n_frees);
        truth_say("bytes", n_bytes);
        truth_say("threads", 1 + (unsigned long)has_sender + (strcmp(source, "itimer") != 0));
        truth_say("table", truth_dtv_bytes());
        return 31;
}
