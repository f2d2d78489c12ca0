/* SPDX-License-Identifier: MIT */
#include "record/sentinel.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "record/proc.h"

enum { SENTINEL_ANSWER_MS = 1000 }; /* a busy machine; then nothing is known */

struct sentinel_question {
        int32_t signo, code, sender, wait_ms;
};

/* Takes the signal off the pending ones. One of the same number from another sender, which the supervisor was not asked
 * about or the terminal made, goes too. */
static bool sentinel_take(const struct sentinel_question *q) {
        int64_t now_ms = (int64_t)clock_now_ms(), end_ms = now_ms + q->wait_ms;
        sigset_t wanted;

        sigemptyset(&wanted);
        sigaddset(&wanted, q->signo);
        do {
                struct timespec left = {0, (long)(end_ms - now_ms) * 1000000};
                siginfo_t info;

                if (sigtimedwait(&wanted, &info, &left) == q->signo && info.si_code == q->code &&
                    info.si_pid == q->sender)
                        return true;
                now_ms = (int64_t)clock_now_ms();
        } while (now_ms < end_ms);
        return false;
}

static void sentinel_main(int fd, pid_t supervisor) __attribute__((noreturn));

static void sentinel_main(int fd, pid_t supervisor) {
        struct sentinel_question q;
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        prctl(PR_SET_NAME, "silt-sentinel");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != supervisor)
                _exit(0);
        /* Whoever reads what silt or the target write must not wait for this process. */
        if (dup2(fd, 0) < 0)
                _exit(0);
        if (syscall(SYS_close_range, 1, ~0u, 0) < 0)
                for (int other = 1; other < 1024; other++)
                        close(other);
        while (recv(0, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
                uint8_t has_seen = sentinel_take(&q);

                (void)!send(0, &has_seen, sizeof(has_seen), MSG_NOSIGNAL);
        }
        _exit(0);
}

void sentinel_start(struct sentinel *s) {
        pid_t supervisor = getpid();
        int pair[2];

        *s = (struct sentinel){.fd = -1};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return;
        s->pid = fork();
        if (s->pid == 0)
                sentinel_main(pair[1], supervisor);
        close(pair[1]);
        s->fd = pair[0];
        if (s->pid < 0)
                sentinel_end(s);
}

/* It must answer: one that was stopped together with the group may have been left so. */
static bool sentinel_ask(const struct sentinel *s, const struct sentinel_question *q,
                         uint8_t *ret_has_seen) {
        struct pollfd answer = {.fd = s->fd, .events = POLLIN};

        if (proc_is_stopped(s->pid)) /* only then: it drops a SIGTSTP that is held */
                kill(s->pid, SIGCONT);
        return send(s->fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*q) &&
               poll(&answer, 1, q->wait_ms + SENTINEL_ANSWER_MS) == 1 &&
               recv(s->fd, ret_has_seen, 1, MSG_DONTWAIT) == 1;
}

bool sentinel_saw(struct sentinel *s, const siginfo_t *info, int wait_ms) {
        struct sentinel_question q = {info->si_signo, info->si_code, info->si_pid, wait_ms};
        uint8_t has_seen = 0;

        if (s->fd < 0)
                return false;
        if (!sentinel_ask(s, &q, &has_seen))
                sentinel_end(s); /* a late answer would be taken for that to another question */
        return has_seen;
}

void sentinel_end(struct sentinel *s) {
        if (s->pid > 0) {
                kill(s->pid, SIGKILL);
                waitpid(s->pid, NULL, 0);
        }
        s->pid = 0;
        if (s->fd >= 0)
                close(TAKE_FD(s->fd));
}
