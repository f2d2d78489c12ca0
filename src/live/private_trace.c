/* SPDX-License-Identifier: MIT */
#include "live/private_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

enum {
        LEAST_ROOM = 1 << 20,
        MAX_SAME_NAME = 1000,
        KEEPER_PATIENCE_MS = 1000,
        KEEPER_LOOK_MS = 5,
};

/* ---- the keeper ---------------------------------------------------------------------------------- */

static void keep_watch(const struct private_trace *p, int fd) __attribute__((noreturn));

/* Between fork and exit other threads of the program may hold any lock: system calls alone. */
static void keep_watch(const struct private_trace *p, int fd) {
        const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
        struct pollfd end = {.fd = 0};
        sigset_t none;

        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                signal(ignored[i], SIG_IGN);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_NAME, "silt-keeper");
        setsid();
        dup2(fd, 0);
        close_range(1, ~0u, 0); /* pipes and terminals of others */
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
                ;
        unlink(p->path);
        rmdir(p->folder);
        _exit(0);
}

static void start_keeper(struct private_trace *p) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        p->keeper = fork();
        if (p->keeper == 0)
                keep_watch(p, fds[0]);
        close(fds[0]);
        if (p->keeper > 0) {
                p->held_fd = fds[1];
                return;
        }
        p->keeper = 0;
        close(fds[1]);
}

static void end_keeper(struct private_trace *p) {
        if (p->held_fd >= 0)
                close(p->held_fd);
        p->held_fd = -1;
        /* one that goes on waits for a child that does not end */
        for (int ms = 0; p->keeper && ms < KEEPER_PATIENCE_MS; ms += KEEPER_LOOK_MS) {
                if (waitpid(p->keeper, NULL, WNOHANG) != 0)
                        p->keeper = 0;
                else
                        (void)poll(NULL, 0, KEEPER_LOOK_MS);
        }
        p->keeper = 0;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static int check_room(const char *folder, struct err *reterr) {
        struct statvfs room;

        if (statvfs(folder, &room) < 0 || room.f_blocks == 0 ||
            (uint64_t)room.f_bavail * room.f_frsize >= LEAST_ROOM)
                return 0;
        return err_set(reterr, -ENOSPC,
                       "'%s' is full: free some space, or set TMPDIR to another directory", folder);
}

int private_trace_make(struct private_trace *p, pid_t pid, struct err *reterr) {
        const char *tmp = getenv("TMPDIR");
        int r;

        *p = (struct private_trace){.held_fd = -1};
        if (!tmp || tmp[0] != '/' || strlen(tmp) > sizeof(p->folder) / 2)
                tmp = "/tmp";
        r = check_room(tmp, reterr);
        if (r < 0)
                return r;
        snprintf(p->folder, sizeof(p->folder), "%s/silt-live-XXXXXX", tmp);
        if (!mkdtemp(p->folder)) {
                int error = -errno;

                p->folder[0] = 0;
                return err_set_errno(reterr, error, "cannot make a directory in '%s'", tmp);
        }
        snprintf(p->path, sizeof(p->path), "%s/%d.silt", p->folder, (int)pid);
        start_keeper(p);
        return 0;
}

void private_trace_remove(struct private_trace *p) {
        if (!p->folder[0])
                return;
        unlink(p->path);
        rmdir(p->folder);
        end_keeper(p);
        p->folder[0] = 0;
}

/* ---- keeping it ---------------------------------------------------------------------------------- */

static int copy(const char *from, const char *to) {
        _cleanup_close_ int in = fs_open(from, O_RDONLY | O_CLOEXEC, 0);
        _cleanup_close_ int out = -1;
        _cleanup_free_ char *some = malloc(1 << 16);
        ssize_t n;
        int r = 0;

        if (!some)
                abort();
        if (in < 0)
                return in;
        out = fs_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (out < 0)
                return out;
        while (r >= 0 && (n = fs_read_some(in, some, 1 << 16)) != 0)
                r = n < 0 ? (int)n : fs_write_all(out, some, (size_t)n);
        if (r < 0)
                unlink(to);
        return r;
}

/* Never over another file. */
static int give_name(const char *from, const char *to) {
        if (link(from, to) == 0)
                return 0;
        return errno == EEXIST ? -EEXIST : copy(from, to);
}

static void name_of(char *ret, size_t cap, const char *program, pid_t pid, int n) {
        char plain[32], number[16] = "";

        snprintf(plain, sizeof(plain), "%s", program[0] ? program : "program");
        for (char *c = plain; *c; c++)
                if (*c == '/' || (unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
                        *c = '_';
        if (n > 1)
                snprintf(number, sizeof(number), "-%d", n);
        snprintf(ret, cap, "silt.%s.%d%s.silt", plain, (int)pid, number);
}

int private_trace_keep(struct private_trace *p, const char *program, pid_t pid, char *ret_path,
                       size_t cap, struct err *reterr) {
        int r = -EEXIST;

        for (int n = 1; r == -EEXIST && n <= MAX_SAME_NAME; n++) {
                name_of(ret_path, cap, program, pid, n);
                r = give_name(p->path, ret_path);
        }
        if (r >= 0) {
                private_trace_remove(p);
                return 0;
        }
        if (p->keeper)
                kill(p->keeper, SIGKILL);
        end_keeper(p);
        p->folder[0] = 0;
        return err_set(reterr, r, "cannot write '%s': %s: the trace is left as '%s'", ret_path,
                       strerror(-r), p->path);
}
