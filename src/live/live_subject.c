/* SPDX-License-Identifier: MIT */
#include "live/live_subject.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "live/private_trace.h"
#include "query/query.h"
#include "record/proc.h"
#include "record/recorder_search.h"

enum {
        /* A process is entered in milliseconds; one whose threads all stand still in the kernel, later. */
        ATTACH_PATIENCE_MS = 60000,
        ATTACH_LOOK_MS = 20,
        LEAVE_PATIENCE_MS = 60000,
        MAX_ATTACH_OPTIONS = 32,
        N_OWN_WORDS = 7,
};

struct live_subject {
        pid_t pid;
        char program[17];
        struct private_trace file; /* where silt attached itself */
        char path[4096];
        pid_t child;    /* silt attach; 0: there is none */
        int errors_fd;  /* what it says */
        char said[480]; /* that much of it */
        size_t n_said;
};

/* ---- the child ----------------------------------------------------------------------------------- */

static void become_attach(const struct live_subject *s, const char *const *options, int errors_fd,
                          pid_t parent) __attribute__((noreturn));

/* In a group of its own: a Ctrl-C is meant for the screen, which then ends this. */
static void become_attach(const struct live_subject *s, const char *const *options, int errors_fd,
                          pid_t parent) {
        const char *argv[MAX_ATTACH_OPTIONS + N_OWN_WORDS + 1];
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        char pid[16];
        sigset_t none;
        size_t n = 0;

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(1);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(errors_fd, STDERR_FILENO);
        if (s->file.held_fd >= 0)
                fcntl(s->file.held_fd, F_SETFD, 0); /* the file stays as long as this writes it */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        snprintf(pid, sizeof(pid), "%d", (int)s->pid);
        argv[n++] = "silt";
        argv[n++] = "attach";
        argv[n++] = pid;
        argv[n++] = "-q";
        argv[n++] = "--no-symbols"; /* whoever follows looks names up, and the file goes */
        argv[n++] = "-o";
        argv[n++] = s->path;
        for (size_t i = 0; options[i] && i < MAX_ATTACH_OPTIONS; i++)
                argv[n++] = options[i];
        argv[n] = NULL;
        execv("/proc/self/exe", (char *const *)argv);
        dprintf(STDERR_FILENO, "silt: attach: cannot start: %s\n", strerror(errno));
        _exit(1);
}

static int start_child(struct live_subject *s, const char *const *options, struct err *reterr) {
        pid_t parent = getpid();
        int fds[2];

        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return err_set_errno(reterr, -errno, "cannot start silt attach");
        s->child = fork();
        if (s->child == 0)
                become_attach(s, options, fds[1], parent);
        close(fds[1]);
        s->errors_fd = fds[0];
        if (s->child > 0)
                return 0;
        s->child = 0;
        return err_set_errno(reterr, -errno, "cannot start silt attach");
}

/* Its first line is what to know; the rest is read so that it never waits for somebody to read it. */
static void hear_child(struct live_subject *s) {
        char rest[512];
        ssize_t n;

        do {
                size_t room = sizeof(s->said) - 1 - s->n_said;

                n = fs_read_some(s->errors_fd, room ? s->said + s->n_said : rest,
                                 room ? room : sizeof(rest));
                if (room && n > 0)
                        s->n_said += (size_t)n;
        } while (n > 0);
        s->said[s->n_said] = 0;
}

/* Waits for the child's words or its end, but not for long. True: it has ended. */
static bool child_has_ended(struct live_subject *s, int wait_ms) {
        struct pollfd p = {.fd = s->errors_fd, .events = POLLIN};

        (void)poll(&p, 1, wait_ms);
        hear_child(s);
        if (waitpid(s->child, NULL, WNOHANG) == 0)
                return false;
        hear_child(s);
        s->child = 0;
        return true;
}

/* ---- attaching ----------------------------------------------------------------------------------- */

static int refuse(const struct live_subject *s, struct err *reterr) {
        const char *text = s->said;

        if (strncmp(text, "silt: ", 6) == 0)
                text += 6;
        if (!text[0])
                return err_set(reterr, -ESRCH, "pid %d: silt attach ended: try 'silt attach %d'",
                               (int)s->pid, (int)s->pid);
        return err_set(reterr, -ESRCH, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool is_readable(const struct live_subject *s) {
        struct query *q = NULL;
        bool is = query_open(s->path, &q, NULL) >= 0;

        query_free(q);
        return is;
}

static int await_trace(struct live_subject *s, struct err *reterr) {
        uint64_t end = clock_now_ms() + ATTACH_PATIENCE_MS;

        while (!is_readable(s)) {
                if (child_has_ended(s, ATTACH_LOOK_MS) && !is_readable(s))
                        return refuse(s, reterr);
                if (clock_now_ms() > end)
                        return err_set(reterr, -ETIMEDOUT,
                                       "pid %d could not be entered within a minute: try again",
                                       (int)s->pid);
        }
        return 0;
}

static int attach_to(struct live_subject *s, const char *const *options, struct err *reterr) {
        int r = private_trace_make(&s->file, s->pid, reterr);

        if (r < 0)
                return r;
        snprintf(s->path, sizeof(s->path), "%s", s->file.path);
        (void)proc_comm(s->pid, s->pid, s->program);
        r = start_child(s, options ? options : LIVE_SUBJECT_USUAL, reterr);
        if (r >= 0)
                r = await_trace(s, reterr);
        return r;
}

/* ---- the subject --------------------------------------------------------------------------------- */

int live_subject_open(const struct live_subject_options *o, struct live_subject **ret,
                      struct err *reterr) {
        _cleanup_(live_subject_freep) struct live_subject *s = calloc(1, sizeof(*s));
        struct recorder_found found;
        struct err err = {0};
        int r;

        if (!s)
                abort();
        s->errors_fd = -1;
        s->pid = recorder_search_pid(o->who);
        if (s->pid == INT32_MAX)
                return err_set(reterr, -ESRCH, "pid %s: no such process: check the number", o->who);
        if (!s->pid) {
                snprintf(s->path, sizeof(s->path), "%s", o->who);
        } else if (recorder_search(o->who, &found, &err) >= 0 && found.trace[0]) {
                snprintf(s->path, sizeof(s->path), "%s", found.trace);
        } else {
                r = attach_to(s, o->attach_options, reterr);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(s);
        return 0;
}

static void end_child(struct live_subject *s) {
        uint64_t end = clock_now_ms() + LEAVE_PATIENCE_MS;

        kill(s->child, SIGTERM);
        while (s->child && clock_now_ms() < end)
                (void)child_has_ended(s, ATTACH_LOOK_MS);
}

/* Names were not looked up: nobody knew that it would be read again. As many as there are; silence is fine. */
static void add_names(const char *path) {
        pid_t pid = fork();

        if (pid == 0) {
                int null = open("/dev/null", O_RDWR | O_CLOEXEC);

                for (int fd = 0; fd < 3; fd++)
                        dup2(null, fd);
                execl("/proc/self/exe", "silt", "symbolize", "-q", path, (char *)NULL);
                _exit(1);
        }
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

void live_subject_leave(struct live_subject *s) {
        if (s->child)
                end_child(s);
}

int live_subject_keep(struct live_subject *s, char *ret_path, size_t cap, struct err *reterr) {
        int r;

        live_subject_leave(s);
        r = private_trace_keep(&s->file, s->program, s->pid, ret_path, cap, reterr);
        if (r >= 0)
                add_names(ret_path);
        return r;
}

struct live_subject *live_subject_free(struct live_subject *s) {
        if (!s)
                return NULL;
        live_subject_leave(s);
        private_trace_remove(&s->file);
        if (s->errors_fd >= 0)
                close(s->errors_fd);
        free(s);
        return NULL;
}

const char *live_subject_path(const struct live_subject *s) {
        return s->path;
}

pid_t live_subject_pid(const struct live_subject *s) {
        return s->pid;
}

bool live_subject_is_attached(const struct live_subject *s) {
        return s->file.folder[0];
}
