/* SPDX-License-Identifier: MIT */
#include "replay/replay_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"
#include "replay/op_writer.h"

/* It is alive as long as it reads; a paced one sleeps meanwhile. */
enum { REPLAY_PATIENCE_S = 120 };

int replay_find_program(char *ret_path, size_t cap, struct err *reterr) {
        int r = fs_find_companion("silt-replay", X_OK, ret_path, cap);

        if (r == -ENOENT)
                return err_set(
                        reterr, r,
                        "silt-replay is neither next to silt nor in ../lib/silt: reinstall silt");
        return r < 0 ? err_set_errno(reterr, r,
                                     "silt-replay: cannot find out where silt is installed")
                     : 0;
}

/* ---- the child ---------------------------------------------------------------------------------- */

struct child {
        pid_t pid;
        int fd; /* the socket's end that is ours */
};

/* Nothing of our own environment: a setting of the user's would be in every row. */
static void fill_environment(const struct contender *c, char *preload, size_t cap, char **ret,
                             size_t max) {
        size_t n = 0;

        if (c && c->library[0]) {
                snprintf(preload, cap, "LD_PRELOAD=%s", c->library);
                ret[n++] = preload;
        }
        for (size_t i = 0; c && i < c->environment.n && n + 1 < max; i++)
                ret[n++] = c->environment.items[i];
        ret[n] = NULL;
}

static _Noreturn void exec_child(const struct replay_options *o, int fd, char *const *argv,
                                 char *const *env) {
        /* what the allocator or the loader complains of would stand among our own words */
        int null = open("/dev/null", O_RDWR);
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
            (fd == REPLAY_FD ? fcntl(fd, F_SETFD, 0) : dup2(fd, REPLAY_FD)) < 0)
                _exit(126);
        execve(o->program, argv, env);
        _exit(127);
}

static int start(const struct recorded_ops *ops, const struct replay_options *o, struct child *ret,
                 struct err *reterr) {
        const struct contender *c = o->contender;
        char parent[24], duration[24], trim[24], preload[300];
        const char *mode = !c ? "none" : o->is_paced ? "paced" : "fast";
        char *env[16],
                *argv[] = {(char *)"silt-replay", parent, duration, (char *)mode, trim, NULL};
        struct timeval patience = {.tv_sec = REPLAY_PATIENCE_S};
        int fds[2];

        if (o->is_paced)
                patience.tv_sec += (time_t)(ops->duration_us / 1000000);
        snprintf(parent, sizeof(parent), "%d", (int)getpid());
        snprintf(duration, sizeof(duration), "%llu", (unsigned long long)ops->duration_us);
        snprintf(trim, sizeof(trim), "%llu", (unsigned long long)(c ? c->trim_us : 0));
        fill_environment(c, preload, sizeof(preload), env, ARRAY_SIZE(env));
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return err_set_errno(reterr, -errno, "replay: cannot make a socket");
        setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        ret->fd = fds[0];
        ret->pid = fork();
        if (ret->pid == 0)
                exec_child(o, fds[1], argv, env);
        close(fds[1]);
        if (ret->pid < 0) {
                int r = -errno;

                close(fds[0]);
                return err_set_errno(reterr, r, "replay: cannot start a process");
        }
        return 0;
}

/* ---- operations --------------------------------------------------------------------------------- */

struct feed {
        int fd;
        struct op_writer w;
};

/* 0; -EPIPE: it is gone, and what it has to say is read later; -EAGAIN: it does not move. */
static int empty_buffer(struct feed *f) {
        for (size_t done = 0; done < f->w.n;) {
                ssize_t n = send(f->fd, f->w.buf + done, f->w.n - done, MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? -EAGAIN : -EPIPE;
                done += (size_t)n;
        }
        f->w.n = 0;
        return 0;
}

static int feed_op(void *ctx, const struct op *op) {
        struct feed *f = ctx;

        return op_writer_put(&f->w, op) ? empty_buffer(f) : 0;
}

static int feed(struct recorded_ops *ops, int fd, struct err *reterr) {
        struct feed *f = malloc(sizeof(*f));
        int r;

        if (!f)
                abort();
        f->fd = fd;
        op_writer_begin(&f->w);
        r = recorded_ops_each(ops, feed_op, f, reterr);
        if (r >= 0) {
                op_writer_put(&f->w, &(struct op){.tag = OP_END});
                r = empty_buffer(f);
        }
        if (r >= 0)
                shutdown(fd, SHUT_WR);
        free(f);
        return r;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* False: it closed its end before it said all; *ret_is_stuck: it did not even do that. */
static bool read_result(int fd, struct replay_result *ret, bool *ret_is_stuck) {
        char *to = (char *)ret;

        for (size_t done = 0; done < sizeof(*ret);) {
                ssize_t n = recv(fd, to + done, sizeof(*ret) - done, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0) {
                        *ret_is_stuck = n < 0 && errno == EAGAIN;
                        return false;
                }
                done += (size_t)n;
        }
        ret->module[sizeof(ret->module) - 1] = 0;
        ret->version[sizeof(ret->version) - 1] = 0;
        return ret->magic == REPLAY_RESULT_MAGIC && ret->status < REPLAY_N_STATUS;
}

static int wait_for(pid_t pid) {
        int status = 0;

        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return status;
}

/* It came to no result of its own. */
static int tell_end(int status, bool is_stuck, struct err *reterr) {
        if (is_stuck)
                return err_set(reterr, -ECHILD, "did not move for %d s and was ended",
                               REPLAY_PATIENCE_S);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                return err_set(reterr, -ECHILD, "was killed: there was not enough memory for it");
        if (WIFSIGNALED(status))
                return err_set(reterr, -ECHILD, "crashed (%s)", strsignal(WTERMSIG(status)));
        return err_set(reterr, -ECHILD, "could not be started (status %d)", WEXITSTATUS(status));
}

static int tell_status(const struct replay_result *r, struct err *reterr) {
        struct unit_text live;

        unit_bytes(&live, r->live_bytes);
        switch ((enum replay_status)r->status) {
        case REPLAY_NO_MEMORY:
                return err_set(reterr, -ECHILD, "ran out of memory with %s live", live.s);
        case REPLAY_NO_THREAD:
                return err_set(reterr, -ECHILD, "could not start a thread: %s",
                               strerror((int)r->error));
        case REPLAY_NO_TABLES:
                return err_set(reterr, -ECHILD, "had no memory for its tables with %s live",
                               live.s);
        case REPLAY_BAD_STREAM:
                return err_set(reterr, -ECHILD, "was given operations that contradict each other");
        case REPLAY_BAD_BLOCK:
        case REPLAY_DONE:
        case REPLAY_N_STATUS: break;
        }
        return 0;
}

/* The replay did what was recorded, or it is worth nothing. */
static int check_counts(const struct recorded_ops *ops, const struct replay_result *r,
                        struct err *reterr) {
        if (r->n_allocs == ops->n_allocs && r->n_frees == ops->n_frees &&
            r->n_reallocs == ops->n_reallocs && r->live_bytes == ops->live_bytes &&
            r->live_blocks == ops->live_blocks && r->peak_live_bytes == ops->peak_live_bytes)
                return 0;
        return err_set(reterr, -ECHILD, "did not do what was recorded: this is a defect of silt");
}

static bool is_loaded(const struct contender *c, const struct replay_result *r) {
        return !c || !c->library[0] || !strstr(r->module, "/libc.so");
}

int replay_run(struct recorded_ops *ops, const struct replay_options *o, struct replay_result *ret,
               struct err *reterr) {
        struct child child;
        bool has_result = false, is_stuck;
        int status, r = start(ops, o, &child, reterr);

        if (r < 0)
                return r;
        r = feed(ops, child.fd, reterr);
        is_stuck = r == -EAGAIN;
        if (r >= 0 || r == -EPIPE)
                has_result = read_result(child.fd, ret, &is_stuck);
        if (is_stuck || (r < 0 && r != -EPIPE))
                kill(child.pid, SIGKILL);
        close(child.fd);
        status = wait_for(child.pid);
        if (r < 0 && r != -EPIPE && !is_stuck)
                return r;
        if (!has_result)
                return tell_end(status, is_stuck, reterr);
        r = tell_status(ret, reterr);
        if (r >= 0 && !is_loaded(o->contender, ret))
                r = err_set(reterr, -ECHILD, "could not be loaded: %s", o->contender->library);
        return r < 0 ? r : check_counts(ops, ret, reterr);
}
