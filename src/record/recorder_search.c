/* SPDX-License-Identifier: MIT */
#include "record/recorder_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/vec.h"
#include "record/proc.h"
#include "record/shared_memory.h"
#include "record/snapshot_protocol.h"
#include "trace/being_written.h"

enum { SEARCH_TRIES = 3 }; /* a bounded trace may change its file just now */

/* Whom the recorder is looked for. */
struct subject {
        const char *who;
        pid_t pid; /* 0: it is a trace */
        struct shared_file trace;
        shared_files shared; /* mappings the process shares with others */
};

static bool shares_memory(pid_t recorder, const struct subject *s) {
        shared_files shared = {0};
        bool is_shared;

        shared_memory_list(recorder, &shared);
        is_shared = shared_memory_meet(&s->shared, &shared);
        vec_free(&shared);
        return is_shared;
}

/* ---- recorders ---------------------------------------------------------------------------------- */

/* "/run/user/1000/silt-a1b2c3" */
static bool is_folder_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash &&
               strncmp(slash + 1, SNAPSHOT_FOLDER_PREFIX, strlen(SNAPSHOT_FOLDER_PREFIX)) == 0;
}

/* Whether a descriptor of a recorder is the trace: it alone is locked. Then *f has the path, where that leads to the same file from
 * here (a container has paths of its own). */
static void look_at_trace(struct recorder_found *f, const char *fd_path, const char *target,
                          const struct stat *st) {
        struct stat here;

        if (!f->trace[0] && strncmp(target, "/memfd:", 7) != 0 && trace_is_being_written(fd_path))
                snprintf(f->trace, sizeof(f->trace), "%s",
                         stat(target, &here) == 0 && here.st_dev == st->st_dev &&
                                         here.st_ino == st->st_ino
                                 ? target
                                 : fd_path);
}

/* Looks at one descriptor of a recorder: the way to its socket, or the trace. */
static void look_at_fd(struct recorder_found *f, const char *name, const struct subject *s,
                       bool *ret_has_trace) {
        char fd_path[64], socket_path[sizeof(f->socket)], target[sizeof(f->trace)];
        struct stat st;
        ssize_t n;

        snprintf(fd_path, sizeof(fd_path), "/proc/%d/fd/%.16s", (int)f->recorder, name);
        n = readlink(fd_path, target, sizeof(target) - 1);
        if (n < 0)
                return;
        target[n] = 0;
        if (stat(fd_path, &st) == 0 && S_ISREG(st.st_mode)) {
                if (!s->pid && st.st_dev == s->trace.device && st.st_ino == s->trace.inode)
                        *ret_has_trace = true;
                look_at_trace(f, fd_path, target, &st);
        }
        snprintf(socket_path, sizeof(socket_path), "%s/" SNAPSHOT_SOCKET_NAME, fd_path);
        if (is_folder_name(target) && stat(socket_path, &st) == 0 && S_ISSOCK(st.st_mode))
                memcpy(f->socket, socket_path, sizeof(f->socket));
}

/* Whether this process is the recorder; fills *ret then. */
static bool is_recorder_of(pid_t pid, const struct subject *s, struct recorder_found *ret) {
        struct recorder_found f = {.recorder = pid};
        bool has_trace = false;
        char path[64], comm[17];
        struct dirent *e;
        DIR *dir;

        if (!proc_comm(pid, pid, comm) || strcmp(comm, SNAPSHOT_RECORDER_NAME) != 0)
                return false;
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        dir = opendir(path);
        if (!dir)
                return false; /* another user's */
        while ((e = readdir(dir)))
                look_at_fd(&f, e->d_name, s, &has_trace);
        closedir(dir);
        if (!has_trace && (!s->pid || (pid != s->pid && !shares_memory(pid, s))))
                return false;
        *ret = f;
        return true;
}

static void find_recorder(const struct subject *s, struct recorder_found *ret) {
        DIR *dir = opendir("/proc");
        struct dirent *e;

        *ret = (struct recorder_found){0};
        while (dir && (e = readdir(dir))) {
                pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

                /* one that can be asked, rather than what it left behind to look up names */
                if (pid > 0 && is_recorder_of(pid, s, ret) && ret->socket[0])
                        break;
        }
        if (dir)
                closedir(dir);
}

/* ---- whose recorder ----------------------------------------------------------------------------- */

static int refuse_pid(const struct subject *s, int shared_error, struct err *reterr) {
        if (kill(s->pid, 0) < 0 && errno == ESRCH)
                return err_set(reterr, -ESRCH, "pid %d: no such process: check the number",
                               (int)s->pid);
        if ((shared_error == -EACCES || shared_error == -EPERM) && geteuid() != 0)
                return err_set(reterr, -EPERM,
                               "pid %d belongs to another user: run silt as that user or as root",
                               (int)s->pid);
        return err_set(reterr, -ESRCH, "pid %d is not being recorded: start with 'silt attach %d'",
                       (int)s->pid, (int)s->pid);
}

static int subject_of_pid(struct subject *s, struct recorder_found *ret, struct err *reterr) {
        int r = shared_memory_list(s->pid, &s->shared);

        find_recorder(s, ret);
        return ret->recorder ? 0 : refuse_pid(s, r, reterr);
}

static int subject_of_file(struct subject *s, struct recorder_found *ret, struct err *reterr) {
        struct stat st;

        for (int i = 0; i < SEARCH_TRIES; i++) {
                if (stat(s->who, &st) < 0)
                        return err_set(reterr, -errno, "cannot open '%s': %s: check the path",
                                       s->who, strerror(errno));
                s->trace = (struct shared_file){st.st_dev, st.st_ino};
                find_recorder(s, ret);
                if (ret->recorder)
                        return 0;
        }
        if (st.st_uid != geteuid() && geteuid() != 0)
                return err_set(reterr, -EPERM,
                               "'%s' belongs to another user: run silt as that user or as root",
                               s->who);
        return err_set(
                reterr, -ESRCH,
                "'%s' is not being recorded: for a finished recording use times, such as --at 90s",
                s->who);
}

pid_t recorder_search_pid(const char *who) {
        if (!who[0] || who[strspn(who, "0123456789")])
                return 0;
        return (pid_t)MIN(strtoul(who, NULL, 10), (unsigned long)INT32_MAX);
}

int recorder_search(const char *who, struct recorder_found *ret, struct err *reterr) {
        struct subject s = {.who = who, .pid = recorder_search_pid(who)};
        int r = s.pid ? subject_of_pid(&s, ret, reterr) : subject_of_file(&s, ret, reterr);

        vec_free(&s.shared);
        return r;
}
