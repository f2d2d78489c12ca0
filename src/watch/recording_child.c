/* SPDX-License-Identifier: MIT */
#include "watch/recording_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

/* A watch has few: two for each recording. */
enum { MAX_DESCRIPTORS = 16384 };

/* Among what it says: that it has entered the process. No text of a program or of silt begins so. */
static const char BEGAN[] = "\001";

static void say_began(void *ctx, const char *trace_path) {
        (void)ctx;
        (void)trace_path;
        (void)!write(STDERR_FILENO, "\001\n", 2);
}

static void close_others(void) {
        if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) == 0)
                return;
        for (int fd = STDERR_FILENO + 1; fd < MAX_DESCRIPTORS; fd++) /* before Linux 5.9 */
                close(fd);
}

static void become(const struct run_options *o, int said_fd) __attribute__((noreturn));

/* Nothing of the watch stays open in it but where it says things: a recording may outlive the watch. */
static void become(const struct run_options *o, int said_fd) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct run_options mine = *o;
        sigset_t none;

        setpgid(0, 0);
        if (null >= 0) {
                dup2(null, STDIN_FILENO);
                dup2(null, STDOUT_FILENO);
        }
        dup2(said_fd, STDERR_FILENO);
        close_others();
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        mine.on_recording = say_began;
        _exit(supervisor_attach(&mine));
}

int recording_child_start(struct recording_child *c, const struct run_options *o,
                          struct err *reterr) {
        int pipe_fds[2];

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return err_set_errno(
                        reterr, -errno,
                        "cannot make a pipe: raise the limit of open files (ulimit -n)");
        fflush(NULL);
        c->pid = fork();
        if (c->pid == 0)
                become(o, pipe_fds[1]);
        close(pipe_fds[1]);
        if (c->pid < 0) {
                close(pipe_fds[0]);
                return err_set_errno(reterr, -errno, "fork: too many processes (see ulimit -u)");
        }
        c->fd = pipe_fds[0];
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        c->target = o->attached;
        snprintf(c->path, sizeof(c->path), "%s", o->output_path);
        return 0;
}

int recording_child_adopt(struct recording_child *c, pid_t silt_pid) {
        c->fd = (int)syscall(SYS_pidfd_open, silt_pid, 0);
        if (c->fd < 0)
                return -errno;
        c->pid = silt_pid;
        c->is_taken_over = c->is_recording = true;
        return 0;
}

static void end_line(struct recording_child *c, recording_child_line *line, void *ctx) {
        c->saying[c->n_said] = '\0';
        c->n_said = 0;
        if (!strcmp(c->saying, BEGAN)) {
                c->is_recording = true;
                return;
        }
        if (!c->saying[0])
                return;
        err_make_one_line(c->saying);
        memcpy(c->said, c->saying, sizeof(c->said));
        line(ctx, c, c->said);
}

void recording_child_hear(struct recording_child *c, recording_child_line *line, void *ctx) {
        char some[512];
        ssize_t n;

        while (!c->is_taken_over && (n = read(c->fd, some, sizeof(some))) > 0)
                for (ssize_t i = 0; i < n; i++) {
                        if (some[i] == '\n')
                                end_line(c, line, ctx);
                        else if (c->n_said < sizeof(c->saying) - 1)
                                c->saying[c->n_said++] = some[i];
                }
}

bool recording_child_has_ended(struct recording_child *c, int *ret_exit_status) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int status;

        *ret_exit_status = -1;
        if (c->is_taken_over)
                return poll(&p, 1, 0) == 1;
        if (waitpid(c->pid, &status, WNOHANG) != c->pid)
                return false;
        if (WIFEXITED(status))
                *ret_exit_status = WEXITSTATUS(status);
        return true;
}

void recording_child_end(struct recording_child *c) {
        if (c->is_asked)
                return;
        c->is_asked = true;
        if (c->is_taken_over)
                syscall(SYS_pidfd_send_signal, c->fd, SIGTERM, NULL, 0);
        else
                kill(c->pid, SIGTERM);
}

void recording_child_done(struct recording_child *c) {
        if (c->fd >= 0)
                close(TAKE_FD(c->fd));
}
