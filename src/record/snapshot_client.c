/* SPDX-License-Identifier: MIT */
#include "record/snapshot_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/vec.h"
#include "record/proc.h"

enum {
        ASKER_PATIENCE_S =
                20,      /* a recorder that is behind answers late; one that is stopped, never */
        ASKER_TRIES = 3, /* a bounded trace may change its file just now */
};

/* A file, as the kernel tells them apart. */
struct identity {
        uint64_t device, inode;
};

typedef VEC(struct identity) identity_vec;

/* Whom the recorder is looked for. */
struct subject {
        const char *who;
        pid_t pid; /* 0: it is a trace */
        struct identity trace;
        identity_vec shared; /* mappings the process shares with others */
};

struct found {
        pid_t recorder;  /* 0: nobody */
        char socket[96]; /* "": it cannot be asked */
};

/* ---- what recorder and recorded have in common -------------------------------------------------- */

static bool has_identity(const identity_vec *v, struct identity x) {
        for (size_t i = 0; i < v->n; i++)
                if (v->items[i].device == x.device && v->items[i].inode == x.inode)
                        return true;
        return false;
}

/* Files that a process has mapped as shared memory it can write: the arena is among them. 0 or -errno. */
static int list_shared(pid_t pid, identity_vec *ret) {
        char path[64], *line = NULL, mode[8];
        unsigned major_no, minor_no;
        unsigned long long inode;
        size_t cap = 0;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        f = fopen(path, "re");
        if (!f)
                return -errno;
        while (getline(&line, &cap, f) > 0)
                if (sscanf(line, "%*s %7s %*s %x:%x %llu", mode, &major_no, &minor_no, &inode) ==
                            4 &&
                    strcmp(mode, "rw-s") == 0 && inode)
                        vec_push(ret, (struct identity){makedev(major_no, minor_no), inode});
        free(line);
        fclose(f);
        return 0;
}

static bool shares_memory(pid_t recorder, const struct subject *s) {
        identity_vec shared = {0};
        bool is_shared = false;

        list_shared(recorder, &shared);
        for (size_t i = 0; i < shared.n && !is_shared; i++)
                is_shared = has_identity(&s->shared, shared.items[i]);
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

/* Looks at one descriptor of a recorder: the way to its socket, or the trace. */
static void look_at_fd(struct found *f, const char *name, const struct subject *s,
                       bool *ret_has_trace) {
        char fd_path[64], socket_path[sizeof(f->socket)], target[4096];
        struct stat st;
        ssize_t n;

        snprintf(fd_path, sizeof(fd_path), "/proc/%d/fd/%.16s", (int)f->recorder, name);
        if (!s->pid && stat(fd_path, &st) == 0 && S_ISREG(st.st_mode) &&
            st.st_dev == s->trace.device && st.st_ino == s->trace.inode)
                *ret_has_trace = true;
        n = readlink(fd_path, target, sizeof(target) - 1);
        if (n < 0)
                return;
        target[n] = 0;
        snprintf(socket_path, sizeof(socket_path), "%s/" SNAPSHOT_SOCKET_NAME, fd_path);
        if (is_folder_name(target) && stat(socket_path, &st) == 0 && S_ISSOCK(st.st_mode))
                memcpy(f->socket, socket_path, sizeof(f->socket));
}

/* Whether this process is the recorder; fills *ret then. */
static bool is_recorder_of(pid_t pid, const struct subject *s, struct found *ret) {
        struct found f = {.recorder = pid};
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

static void find_recorder(const struct subject *s, struct found *ret) {
        DIR *dir = opendir("/proc");
        struct dirent *e;

        *ret = (struct found){0};
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

static int subject_of_pid(struct subject *s, struct found *ret, struct err *reterr) {
        int r = list_shared(s->pid, &s->shared);

        find_recorder(s, ret);
        return ret->recorder ? 0 : refuse_pid(s, r, reterr);
}

static int subject_of_file(struct subject *s, struct found *ret, struct err *reterr) {
        struct stat st;

        for (int i = 0; i < ASKER_TRIES; i++) {
                if (stat(s->who, &st) < 0)
                        return err_set(reterr, -errno, "cannot open '%s': %s: check the path",
                                       s->who, strerror(errno));
                s->trace = (struct identity){st.st_dev, st.st_ino};
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

/* ---- asking ------------------------------------------------------------------------------------- */

static int connect_to(const char *path) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        struct timeval patience = {.tv_sec = ASKER_PATIENCE_S};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
        if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int refuse_silence(const struct found *f, const char *who, int why, struct err *reterr) {
        if (why == -EAGAIN)
                return err_set(reterr, -ETIMEDOUT, "'%s': its recorder (pid %d) does not answer%s",
                               who, (int)f->recorder,
                               proc_is_stopped(f->recorder)
                                       ? ": it is stopped: continue it with kill -CONT"
                                       : ": try again");
        return err_set(reterr, -ESRCH,
                       "'%s': the recording has just ended: use times, such as --at 90s", who);
}

static int ask(const struct found *f, const char *who, const struct snapshot_request *q,
               struct snapshot_answer *ret, struct err *reterr) {
        _cleanup_close_ int fd = connect_to(f->socket);
        ssize_t n;

        if (fd < 0)
                return refuse_silence(f, who, fd, reterr);
        do
                n = send(fd, q, sizeof(*q), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return refuse_silence(f, who, -errno, reterr);
        do
                n = recv(fd, ret, sizeof(*ret), 0);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                return refuse_silence(f, who, n < 0 ? -errno : -EPIPE, reterr);
        if (n != (ssize_t)sizeof(*ret) || ret->magic != SNAPSHOT_MAGIC ||
            ret->version != SNAPSHOT_VERSION)
                return err_set(reterr, -EPROTO,
                               "'%s': its recorder is a different build of silt: use that build",
                               who);
        ret->name[sizeof(ret->name) - 1] = ret->text[sizeof(ret->text) - 1] =
                ret->path[sizeof(ret->path) - 1] = 0;
        return ret->result == SNAPSHOT_DONE ? 0 : err_set(reterr, -EINVAL, "%s", ret->text);
}

int snapshot_client_take(const char *who, const char *name, bool graph, struct snapshot_answer *ret,
                         struct err *reterr) {
        struct snapshot_request q = {.magic = SNAPSHOT_MAGIC,
                                     .version = SNAPSHOT_VERSION,
                                     .kind = graph ? SNAPSHOT_TAKE_GRAPH : SNAPSHOT_TAKE};
        struct subject s = {.who = who};
        struct found f;
        int r;

        if (who[0] && !who[strspn(who, "0123456789")])
                s.pid = (pid_t)MIN(strtoul(who, NULL, 10), (unsigned long)INT32_MAX);
        q.pid = (uint32_t)s.pid;
        q.name_bytes = name ? (uint32_t)MIN(strlen(name), (size_t)SNAPSHOT_NAME_BYTES) : 0;
        memcpy(q.name, name ? name : "", q.name_bytes);
        r = s.pid ? subject_of_pid(&s, &f, reterr) : subject_of_file(&s, &f, reterr);
        vec_free(&s.shared);
        if (r < 0)
                return r;
        if (!f.socket[0])
                return refuse_silence(&f, who, -EPIPE, reterr);
        return ask(&f, who, &q, ret, reterr);
}
