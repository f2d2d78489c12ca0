/* SPDX-License-Identifier: MIT */
/* restless: threads that wait for a moment in one system call each, over and over, and look at how it ended. SIGTERM ends it: "ok CALLS", or at
 * once "bad WHAT" when one failed: no signal has a handler but that. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static atomic_ulong n_calls;

static void check(int holds, const char *what) {
        int e = errno;

        if (holds)
                return;
        dprintf(1, "bad %s: %s\n", what, strerror(e));
        _exit(1);
}

static unsigned long long now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* Not before its time, whatever silt does: 1 ms each. */
static void check_late(unsigned long long begin_ns, const char *what) {
        errno = 0;
        check(now_ns() - begin_ns >= 990000, what);
}

static void wait_epoll(int fd) {
        struct epoll_event event;

        check(epoll_wait(fd, &event, 1, 1) == 0, "epoll_wait");
}

static void wait_poll(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        check(poll(&p, 1, 1) == 0, "poll");
}

static void wait_select(int fd) {
        struct timeval t = {0, 1000};
        fd_set set;

        FD_ZERO(&set);
        FD_SET(fd, &set);
        check(select(fd + 1, &set, NULL, NULL, &t) == 0, "select");
}

static void wait_sleep(int fd) {
        const struct timespec t = {0, 1000000};

        (void)fd;
        check(nanosleep(&t, NULL) == 0, "nanosleep");
}

static void wait_receive(int fd) {
        char c;

        check(recv(fd, &c, 1, 0) < 0 && errno == EAGAIN, "recv");
}

static void wait_semaphore(int fd) {
        static sem_t never;
        struct timespec t;

        (void)fd;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 1000000;
        if (t.tv_nsec >= 1000000000)
                t.tv_sec++, t.tv_nsec -= 1000000000;
        check(sem_timedwait(&never, &t) < 0 && errno == ETIMEDOUT, "sem_timedwait");
}

static void wait_signal(int fd) {
        const struct timespec t = {0, 1000000};
        sigset_t set;

        (void)fd;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        check(sigtimedwait(&set, NULL, &t) < 0 && errno == EAGAIN, "sigtimedwait");
}

struct wait {
        const char *what;
        void (*fn)(int fd);
        int fd;
};

static void *work(void *arg) {
        const struct wait *w = arg;

        while (!atomic_load(&stop)) {
                unsigned long long begin_ns = now_ns();
                void *volatile block = malloc(100);

                w->fn(w->fd);
                check_late(begin_ns, w->what);
                free(block);
                atomic_fetch_add(&n_calls, 1);
        }
        return NULL;
}

static void on_term(int sig) {
        (void)sig;
        atomic_store(&stop, 1);
}

int main(int argc, char **argv) {
        struct wait waits[] = {{"epoll_wait", wait_epoll, -1},
                               {"poll", wait_poll, -1},
                               {"select", wait_select, -1},
                               {"nanosleep", wait_sleep, -1},
                               {"recv", wait_receive, -1},
                               {"sem_timedwait", wait_semaphore, -1},
                               {"sigtimedwait", wait_signal, -1}};
        enum { N = sizeof(waits) / sizeof(waits[0]) };
        struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
        struct timeval patience = {0, 1000};
        pthread_t threads[N];
        int sockets[2], n = 0;
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        waits[0].fd = epoll_create1(EPOLL_CLOEXEC);
        check(epoll_create1(EPOLL_CLOEXEC) >= 0,
              "epoll_create1"); /* which of them it waits for must be known */
        waits[1].fd = waits[2].fd = waits[4].fd = sockets[0];
        pthread_sigmask(SIG_BLOCK, &mask, NULL); /* the first thread takes it */
        for (int i = 0; i < N; i++)
                if (argc < 2 || strcmp(argv[1], waits[i].what) == 0)
                        pthread_create(&threads[n++], NULL, work, &waits[i]);
        sigaction(SIGTERM, &term, NULL);
        pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        for (int i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
        printf("ok %lu\n", atomic_load(&n_calls));
        return 0;
}
