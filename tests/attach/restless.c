/* SPDX-License-Identifier: MIT */
/* restless: threads that wait for a moment in one system call each, over and over, and look at how it ended. SIGTERM ends it: "ok CALLS", or at
 * once "bad WHAT" when one failed: no signal has a handler but that. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static atomic_ulong n_calls;
static int semaphore = -1;

static void check(int holds, const char *what) {
        int e = errno;

        if (holds)
                return;
        dprintf(1, "bad %s: %s\n", what, strerror(e));
        semctl(semaphore, 0, IPC_RMID);
        _exit(1);
}

static unsigned long long clock_ns(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static unsigned long long now_ns(void) {
        return clock_ns(CLOCK_MONOTONIC);
}

/* So that silt finds it running, and then it waits. */
static void work_a_little(void) {
        static _Thread_local unsigned long long n;
        unsigned long long end_ns = now_ns() + (n++ * 7919) % 50000;

        while (now_ns() < end_ns) {}
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

/* The one call that waits for a time of day, which whoever sets the clock brings about early: then it waits for the next. */
static void wait_semaphore(int fd) {
        static sem_t never;
        unsigned long long begin_ns = now_ns();

        (void)fd;
        do {
                unsigned long long until_ns = clock_ns(CLOCK_REALTIME) + 1000000;
                const struct timespec t = {(time_t)(until_ns / 1000000000),
                                           (long)(until_ns % 1000000000)};

                check(sem_timedwait(&never, &t) < 0 && errno == ETIMEDOUT, "sem_timedwait");
                check(clock_ns(CLOCK_REALTIME) >= until_ns || now_ns() - begin_ns >= 990000,
                      "sem_timedwait");
        } while (now_ns() - begin_ns < 990000);
}

static void wait_signal(int fd) {
        const struct timespec t = {0, 1000000};
        sigset_t set;

        (void)fd;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        check(sigtimedwait(&set, NULL, &t) < 0 && errno == EAGAIN, "sigtimedwait");
}

static void wait_epoll_2(int fd) {
        const struct timespec t = {0, 1000000};
        struct epoll_event event;

        check(epoll_pwait2(fd, &event, 1, &t, NULL) == 0, "epoll_pwait2");
}

static void wait_receive_many(int fd) {
        char c;
        struct iovec part = {&c, 1};
        struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

        check(recvmmsg(fd, &message, 1, 0, NULL) < 0 && errno == EAGAIN, "recvmmsg");
}

/* Nobody reads at the other end, and there is no room. */
static void wait_send(int fd) {
        check(send(fd, "x", 1, 0) < 0 && errno == EAGAIN, "send");
}

static void wait_write(int fd) {
        check(write(fd, "x", 1) < 0 && errno == EAGAIN, "write");
}

static void wait_semop(int fd) {
        const struct timespec t = {0, 1000000};
        struct sembuf take = {.sem_op = -1};

        check(semtimedop(fd, &take, 1, &t) < 0 && errno == EAGAIN, "semtimedop");
}

static struct sockaddr_un full_path = {.sun_family = AF_UNIX};
static struct sockaddr_in full_port = {.sin_family = AF_INET};

static int patient_socket(int domain) {
        const struct timeval patience = {0, 1000};
        int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        return fd;
}

static void wait_connect(int fd) {
        int caller = patient_socket(AF_UNIX);

        (void)fd;
        check(connect(caller, (struct sockaddr *)&full_path, sizeof(full_path)) < 0 &&
                      errno == EAGAIN,
              "connect");
        close(caller);
}

/* A call that was made again goes on with a connection that is being made, and says so when its time is up. */
static void wait_connect_tcp(int fd) {
        int caller = patient_socket(AF_INET);

        (void)fd;
        check(connect(caller, (struct sockaddr *)&full_port, sizeof(full_port)) < 0 &&
                      (errno == EINPROGRESS || errno == EALREADY),
              "connect (TCP)");
        close(caller);
}

static void wait_ring(int fd) {
        struct __kernel_timespec t = {.tv_nsec = 1000000};
        struct io_uring_getevents_arg arg = {.ts = (uint64_t)(uintptr_t)&t};

        check(syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                      &arg, sizeof(arg)) < 0 &&
                      errno == ETIME,
              "io_uring_enter");
}

struct wait {
        const char *what;
        void (*fn)(int fd);
        int fd;
};

static void *work(void *arg) {
        const struct wait *w = arg;

        while (!atomic_load(&stop)) {
                void *volatile block = malloc(100);
                unsigned long long begin_ns;

                work_a_little();
                begin_ns = now_ns();
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

/* A descriptor on which one byte more has to wait. */
static int full_socket(void) {
        const struct timeval patience = {0, 1000};
        char bytes[4096] = {0};
        int pair[2];

        check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
        while (send(pair[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {}
        while (send(pair[0], bytes, 1, MSG_DONTWAIT) > 0) {}
        setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        return pair[0];
}

/* Nobody accepts there, and as many wait as may. */
static void fill_listeners(void) {
        socklen_t n = sizeof(full_port);
        int path = socket(AF_UNIX, SOCK_STREAM, 0), port = socket(AF_INET, SOCK_STREAM, 0);

        snprintf(full_path.sun_path + 1, sizeof(full_path.sun_path) - 1, "restless-%d",
                 (int)getpid());
        full_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        check(bind(path, (struct sockaddr *)&full_path, sizeof(full_path)) == 0 &&
                      listen(path, 0) == 0,
              "listen");
        check(bind(port, (struct sockaddr *)&full_port, sizeof(full_port)) == 0 &&
                      listen(port, 0) == 0 &&
                      getsockname(port, (struct sockaddr *)&full_port, &n) == 0,
              "listen (TCP)");
        while (connect(patient_socket(AF_UNIX), (struct sockaddr *)&full_path, sizeof(full_path)) ==
               0) {}
        while (connect(patient_socket(AF_INET), (struct sockaddr *)&full_port, sizeof(full_port)) ==
               0) {}
}

static int new_semaphore(void) {
        semaphore = semget(IPC_PRIVATE, 1, 0600);
        check(semaphore >= 0, "semget");
        return semaphore;
}

static int new_ring(void) {
        struct io_uring_params p = {0};

        return (int)syscall(SYS_io_uring_setup, 4, &p); /* not everywhere permitted */
}

int main(int argc, char **argv) {
        struct wait waits[] = {{"epoll_wait", wait_epoll, -1},
                               {"poll", wait_poll, -1},
                               {"select", wait_select, -1},
                               {"nanosleep", wait_sleep, -1},
                               {"recv", wait_receive, -1},
                               {"sem_timedwait", wait_semaphore, -1},
                               {"sigtimedwait", wait_signal, -1},
                               {"epoll_pwait2", wait_epoll_2, -1},
                               {"recvmmsg", wait_receive_many, -1},
                               {"send", wait_send, full_socket()},
                               {"write", wait_write, full_socket()},
                               {"semtimedop", wait_semop, new_semaphore()},
                               {"connect", wait_connect, -1},
                               {"connect-tcp", wait_connect_tcp, -1},
                               {"io_uring_enter", wait_ring, new_ring()}};
        enum { N = sizeof(waits) / sizeof(waits[0]) };
        struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
        struct timeval patience = {0, 1000};
        pthread_t threads[N];
        int sockets[2], n = 0;
        sigset_t mask;

        fill_listeners();
        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        waits[0].fd = waits[7].fd = epoll_create1(EPOLL_CLOEXEC);
        check(epoll_create1(EPOLL_CLOEXEC) >= 0,
              "epoll_create1"); /* which of them it waits for must be known */
        waits[1].fd = waits[2].fd = waits[4].fd = waits[8].fd = sockets[0];
        pthread_sigmask(SIG_BLOCK, &mask, NULL); /* the first thread takes it */
        for (int i = 0; i < N; i++)
                if (argc < 2 ? waits[i].fn != wait_ring || waits[i].fd >= 0
                             : strcmp(argv[1], waits[i].what) == 0)
                        pthread_create(&threads[n++], NULL, work, &waits[i]);
        sigaction(SIGTERM, &term, NULL);
        pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        for (int i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
        semctl(semaphore, 0, IPC_RMID);
        printf("ok %lu\n", atomic_load(&n_calls));
        return 0;
}
