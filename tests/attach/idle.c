/* SPDX-License-Identifier: MIT */
/* idle HOW: waits in one system call, and checks how it ended: "ready PID", then "ok", or "bad WHAT" at once. A byte on stdin ends most of them; those with
 * a time-out end by it, and not before or much later. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIME_MS = 4000, LATE_MS = 5500 }; /* a machine may be slow; begun again, it would be later */

static void bad(const char *what) {
        dprintf(1, "bad %s: %s\n", what, strerror(errno));
        _exit(1);
}

static long now_ms(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void check_time(long begin_ms) {
        long ms = now_ms() - begin_ms;

        if (ms < TIME_MS - 2 || ms > LATE_MS) {
                dprintf(1, "bad time: %ld ms\n", ms);
                _exit(1);
        }
}

static void wait_read(void) {
        char byte;

        if (read(0, &byte, 1) != 1)
                bad("read");
}

static void wait_poll(void) {
        struct pollfd p = {.fd = 0, .events = POLLIN};

        if (poll(&p, 1, -1) != 1)
                bad("poll");
}

static int epoll_of(int fd) {
        struct epoll_event event = {.events = EPOLLIN};
        int epoll = epoll_create1(0);

        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                bad("epoll_ctl");
        return epoll;
}

static void wait_epoll(void) {
        struct epoll_event event;

        if (epoll_wait(epoll_of(0), &event, 1, -1) != 1)
                bad("epoll_wait");
}

static void time_epoll(void) {
        struct epoll_event event;
        int pair[2], epoll;
        long begin_ms;

        if (pipe(pair) < 0)
                bad("pipe");
        epoll = epoll_of(pair[0]);
        /* so that somebody who looks from outside sees it begin */
        for (int i = 0; i < 20; i++)
                if (epoll_wait(epoll, &event, 1, 20) != 0)
                        bad("epoll_wait");
        begin_ms = now_ms();
        if (epoll_wait(epoll, &event, 1, TIME_MS) != 0)
                bad("epoll_wait");
        check_time(begin_ms);
}

static void wait_select(void) {
        fd_set set;

        FD_ZERO(&set);
        FD_SET(0, &set);
        if (select(1, &set, NULL, NULL, NULL) != 1)
                bad("select");
}

static void time_select(void) {
        struct timeval t = {TIME_MS / 1000, TIME_MS % 1000 * 1000};
        long begin_ms = now_ms();

        if (select(0, NULL, NULL, NULL, &t) != 0)
                bad("select");
        check_time(begin_ms);
}

static void time_poll(void) {
        long begin_ms = now_ms();

        if (poll(NULL, 0, TIME_MS) != 0)
                bad("poll");
        check_time(begin_ms);
}

static void time_sleep(void) {
        struct timespec t = {TIME_MS / 1000, TIME_MS % 1000 * 1000000}, left = {0};
        long begin_ms = now_ms();

        if (nanosleep(&t, &left) < 0)
                bad("nanosleep");
        check_time(begin_ms);
}

static void time_condition(void) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
        long begin_ms = now_ms();
        struct timespec t;
        int r;

        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += TIME_MS % 1000 * 1000000;
        t.tv_sec += TIME_MS / 1000 + t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_mutex_lock(&mutex);
        r = pthread_cond_timedwait(&condition, &mutex, &t);
        if (r != ETIMEDOUT) {
                errno = r;
                bad("pthread_cond_timedwait");
        }
        check_time(begin_ms);
}

static sem_t posted;

static void *post(void *arg) {
        (void)arg;
        wait_read();
        sem_post(&posted);
        return NULL;
}

static void wait_futex(void) {
        pthread_t thread;

        sem_init(&posted, 0, 0);
        pthread_create(&thread, NULL, post, NULL);
        if (sem_wait(&posted) != 0)
                bad("sem_wait");
        pthread_join(thread, NULL);
}

static void wait_accept(void) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "idle-%d", (int)getpid());
        if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 1) < 0)
                bad("listen");
        if (accept(fd, NULL, NULL) < 0)
                bad("accept");
}

static void time_receive(void) {
        struct timeval t = {TIME_MS / 1000, TIME_MS % 1000 * 1000};
        int pair[2];
        char byte;

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
            setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) < 0)
                bad("socketpair");
        if (recv(pair[0], &byte, 1, 0) != -1 || errno != EAGAIN)
                bad("recv");
}

static void wait_signal(void) {
        siginfo_t info;
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        if (sigwaitinfo(&set, &info) != SIGUSR1)
                bad("sigwaitinfo");
}

/* Calls that another process ends, when the byte on stdin is there. */
static pid_t fork_giver(void) {
        pid_t child = fork();

        if (child == 0)
                wait_read();
        return child;
}

static void wait_semop(void) {
        struct sembuf take = {.sem_op = -1}, give = {.sem_op = 1};
        int id = semget(IPC_PRIVATE, 1, 0600), result;

        if (fork_giver() == 0)
                _exit(semop(id, &give, 1));
        result = semop(id, &take, 1);
        semctl(id, 0, IPC_RMID);
        if (result != 0)
                bad("semop");
}

static void wait_message(void) {
        struct {
                long type;
        } message = {1};
        int id = msgget(IPC_PRIVATE, 0600);
        ssize_t result;

        if (fork_giver() == 0)
                _exit(msgsnd(id, &message, 0, 0));
        result = msgrcv(id, &message, 0, 0, 0);
        msgctl(id, IPC_RMID, NULL);
        if (result != 0)
                bad("msgrcv");
}

static void wait_epoll_2(void) {
        struct epoll_event event;

        if (epoll_pwait2(epoll_of(0), &event, 1, NULL, NULL) != 1)
                bad("epoll_pwait2");
}

static void wait_ring(void) {
        struct io_uring_params p = {0};
        int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
        struct io_uring_sqe *sqes;
        char *ring;
        unsigned *tail;

        if (fd < 0) { /* not everywhere permitted */
                wait_read();
                return;
        }
        ring = mmap(NULL, p.sq_off.array + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    IORING_OFF_SQ_RING);
        sqes = mmap(NULL, 4 * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    IORING_OFF_SQES);
        if (ring == MAP_FAILED || sqes == MAP_FAILED)
                bad("mmap");
        sqes[0] = (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD, .poll32_events = POLLIN};
        tail = (unsigned *)(ring + p.sq_off.tail);
        ((unsigned *)(ring + p.sq_off.array))[0] = 0;
        *tail += 1;
        if (syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) != 1 ||
            syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
                bad("io_uring_enter");
}

static void wait_child(void) {
        int status;
        pid_t child = fork();

        if (child == 0) {
                wait_read();
                _exit(7);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
                bad("waitpid");
}

static volatile sig_atomic_t n_handled;

static void on_signal(int sig) {
        (void)sig;
        n_handled++;
}

static void handle(int flags) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

        sigaction(SIGUSR1, &action, NULL);
}

/* Its handler is all that ends them: a program that looks for what it has set sees it at once, or never. */
static void handled_pause(void) {
        handle(SA_RESTART);
        if (pause() != -1 || errno != EINTR || n_handled != 1)
                bad("pause");
}

static void handled_epoll(void) {
        struct epoll_event event;

        handle(SA_RESTART);
        if (epoll_wait(epoll_of(0), &event, 1, -1) != -1 || errno != EINTR || n_handled != 1)
                bad("epoll_wait");
}

static void handled_read(void) {
        char byte;

        handle(0);
        if (read(0, &byte, 1) != -1 || errno != EINTR || n_handled != 1)
                bad("read");
}

/* The other way round: no error may be seen. */
static void handled_restart(void) {
        char byte;

        handle(SA_RESTART);
        if (read(0, &byte, 1) != 1 || n_handled != 1)
                bad("read");
}

/* Signals are blocked while silt has its way with a thread. */
static void check_mask(void) {
        sigset_t set;

        sigprocmask(SIG_BLOCK, NULL, &set);
        for (int i = 1; i < 64; i++)
                if (i != SIGUSR1 && sigismember(&set, i) == 1)
                        bad("signal mask");
}

static const struct {
        const char *name;
        void (*fn)(void);
} ways[] = {
        {"read", wait_read},
        {"poll", wait_poll},
        {"epoll", wait_epoll},
        {"epoll2", wait_epoll_2},
        {"ring", wait_ring},
        {"semop", wait_semop},
        {"message", wait_message},
        {"epoll-time", time_epoll},
        {"select", wait_select},
        {"select-time", time_select},
        {"poll-time", time_poll},
        {"sleep-time", time_sleep},
        {"futex", wait_futex},
        {"condition-time", time_condition},
        {"accept", wait_accept},
        {"receive-time", time_receive},
        {"signal", wait_signal},
        {"child", wait_child},
        {"handled-pause", handled_pause},
        {"handled-epoll", handled_epoll},
        {"handled-read", handled_read},
        {"handled-restart", handled_restart},
};

int main(int argc, char **argv) {
        handle(SA_RESTART); /* it may come before it is waited for */
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
                if (argc > 1 && !strcmp(argv[1], ways[i].name))
                        ways[i].fn();
        check_mask();
        free(malloc(100));
        puts("ok");
        return 0;
}
