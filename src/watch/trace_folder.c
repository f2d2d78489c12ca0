/* SPDX-License-Identifier: MIT */
#include "watch/trace_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/vec.h"
#include "trace/being_written.h"

#define LOCK_NAME ".silt-watch"

/* ---- names ---------------------------------------------------------------------------------------- */

/* What a process calls itself may be anything. */
static void add_program(char *ret, size_t cap, const char *program) {
        size_t n = 0;

        for (; program[n] && n + 1 < MIN(cap, (size_t)32); n++)
                ret[n] = (char)(isalnum((unsigned char)program[n]) || strchr("._+-", program[n])
                                        ? program[n]
                                        : '_');
        ret[n] = '\0';
        if (!n)
                snprintf(ret, cap, "process");
}

void trace_folder_name(const struct trace_folder *f, const char *program, pid_t pid,
                       uint64_t began_unix_s, char *ret, size_t cap) {
        time_t began = (time_t)began_unix_s;
        char plain[33], when[24] = "0T0";
        struct tm utc;

        add_program(plain, sizeof(plain), program);
        if (gmtime_r(&began, &utc))
                strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &utc);
        snprintf(ret, cap, "%s/silt.%s.%d.%s.silt", f->path, plain, (int)pid, when);
        for (unsigned n = 2; access(ret, F_OK) == 0 && n < 100000; n++)
                snprintf(ret, cap, "%s/silt.%s.%d.%s.%u.silt", f->path, plain, (int)pid, when, n);
}

/* Cuts the last part of a name off, which is behind a dot. False: there is none. */
static bool cut_part(char *name, const char **ret_part) {
        char *dot = strrchr(name, '.');

        if (!dot || dot == name)
                return false;
        *dot = '\0';
        *ret_part = dot + 1;
        return true;
}

static bool is_number(const char *part) {
        return *part && !part[strspn(part, "0123456789")];
}

static bool is_moment(const char *part) {
        size_t n = strspn(part, "0123456789");

        return n && part[n] == 'T' && is_number(part + n + 1);
}

pid_t trace_folder_pid(const char *name) {
        char copy[TRACE_FOLDER_NAME_BYTES];
        const char *part;

        if (strlen(name) >= sizeof(copy) || strncmp(name, "silt.", 5) != 0)
                return 0;
        snprintf(copy, sizeof(copy), "%s", name + 5);
        if (!cut_part(copy, &part) || strcmp(part, "silt") != 0 || !cut_part(copy, &part))
                return 0;
        if (is_number(part) && !cut_part(copy, &part))
                return 0;
        if (!is_moment(part) || !cut_part(copy, &part) || !is_number(part) || strlen(part) > 9)
                return 0;
        return (pid_t)atoi(part);
}

/* ---- room ----------------------------------------------------------------------------------------- */

struct trace_file {
        char name[TRACE_FOLDER_NAME_BYTES];
        uint64_t bytes;
        struct timespec changed;
        bool is_written;
};

typedef VEC(struct trace_file) trace_files;

static int older_first(const void *a, const void *b) {
        const struct trace_file *x = a, *y = b;

        if (x->changed.tv_sec != y->changed.tv_sec)
                return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
        if (x->changed.tv_nsec != y->changed.tv_nsec)
                return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int list_files(struct trace_folder *f, trace_files *ret) {
        DIR *dir = opendir(f->path);
        char path[sizeof(f->path) + TRACE_FOLDER_NAME_BYTES];
        struct dirent *e;
        struct stat st;

        if (!dir)
                return -errno;
        f->n_files = f->n_written = f->bytes = 0;
        while ((e = readdir(dir))) {
                struct trace_file *one;

                if (strlen(e->d_name) >= TRACE_FOLDER_NAME_BYTES || !trace_folder_pid(e->d_name) ||
                    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISREG(st.st_mode))
                        continue;
                one = vec_add(ret);
                memcpy(one->name, e->d_name, strlen(e->d_name));
                one->bytes = MAX((uint64_t)st.st_size, (uint64_t)st.st_blocks * 512);
                one->changed = st.st_mtim;
                snprintf(path, sizeof(path), "%s/%s", f->path, one->name);
                one->is_written = trace_is_being_written(path);
                f->n_files++;
                f->n_written += one->is_written;
                f->bytes += one->bytes;
        }
        closedir(dir);
        return 0;
}

/* One that is being written takes what it may become. */
static uint64_t room_of(const struct trace_folder *f, const struct trace_file *one) {
        return one->is_written ? MAX(one->bytes, f->max_trace_bytes) : one->bytes;
}

int trace_folder_tidy(struct trace_folder *f, trace_folder_told *told, void *ctx) {
        char path[sizeof(f->path) + TRACE_FOLDER_NAME_BYTES];
        trace_files files = {0};
        uint64_t bytes = 0;
        int r = list_files(f, &files);

        for (size_t i = 0; i < files.n; i++)
                bytes += room_of(f, &files.items[i]);
        if (files.n)
                qsort(files.items, files.n, sizeof(*files.items), older_first);
        for (size_t i = 0;
             i < files.n && (bytes > f->max_bytes || f->n_files > TRACE_FOLDER_MAX_FILES); i++) {
                const struct trace_file *one = &files.items[i];

                snprintf(path, sizeof(path), "%s/%s", f->path, one->name);
                if (one->is_written || unlink(path) < 0)
                        continue;
                bytes -= one->bytes;
                f->bytes -= one->bytes;
                f->n_files--;
                f->n_removed++;
                f->removed_bytes += one->bytes;
                told(ctx, one->name, one->bytes);
        }
        vec_free(&files);
        return r;
}

/* ---- the folder ------------------------------------------------------------------------------------- */

static int lock_folder(struct trace_folder *f, struct err *reterr) {
        char path[sizeof(f->path) + sizeof(LOCK_NAME) + 1];

        snprintf(path, sizeof(path), "%s/" LOCK_NAME, f->path);
        f->lock_fd = fs_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (f->lock_fd < 0)
                return err_set(reterr, f->lock_fd,
                               "cannot write to '%s': %s: choose another folder (-o)", f->path,
                               strerror(-f->lock_fd));
        if (flock(f->lock_fd, LOCK_EX | LOCK_NB) == 0)
                return 0;
        close(TAKE_FD(f->lock_fd));
        return err_set(
                reterr, -EBUSY,
                "'%s': another watch already records into this folder: choose another folder (-o)",
                f->path);
}

int trace_folder_open(const char *path, uint64_t max_bytes, uint64_t max_trace_bytes,
                      struct trace_folder *ret, struct err *reterr) {
        struct trace_folder f = {.lock_fd = -1,
                                 .max_bytes = max_bytes,
                                 .max_trace_bytes = max_trace_bytes};
        struct stat st;
        int r;

        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return err_set(reterr, -errno, "cannot create '%s': %s: choose another folder (-o)",
                               path, strerror(errno));
        if (!realpath(path, f.path) || stat(f.path, &st) < 0 || !S_ISDIR(st.st_mode))
                return err_set(reterr, -ENOTDIR, "'%s' is not a folder: choose another (-o)", path);
        r = lock_folder(&f, reterr);
        if (r == 0)
                *ret = f;
        return r;
}

void trace_folder_close(struct trace_folder *f) {
        if (f->lock_fd >= 0)
                close(TAKE_FD(f->lock_fd));
}
