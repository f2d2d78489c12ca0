/* SPDX-License-Identifier: MIT */
#include "record/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "base/vec.h"

enum {
        PROC_MAX_CMDLINE_BYTES = 256 * 1024,
        PROC_COMM_BYTES = 15,
        PROC_KTHREAD = 0x200000, /* of the kernel's flags: PF_KTHREAD */
};

/* A program that writes a title over its arguments (redis-server, nginx, postgres) leaves one text of several words, and
 * nothing behind it. */
static bool is_title(const char *raw, size_t n_bytes) {
        size_t n = strlen(raw);

        if (raw[0] == ' ' || !strchr(raw, ' ') || (raw[0] == '/' && n + 1 >= n_bytes))
                return false;
        while (n < n_bytes && !raw[n])
                n++;
        return n >= n_bytes;
}

const char *const *proc_args(struct arena *arena, pid_t pid, uint32_t *ret_n) {
        _cleanup_free_ char *raw = malloc(PROC_MAX_CMDLINE_BYTES);
        VEC(const char *) args = {0};
        const char *const *copy;
        char path[64];
        ssize_t n;

        *ret_n = 0;
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        if (!raw || (n = fs_read_text(path, raw, PROC_MAX_CMDLINE_BYTES)) <= 0)
                return NULL;
        if (is_title(raw, (size_t)n)) {
                char *rest = raw, *word;

                while ((word = strsep(&rest, " ")))
                        if (*word)
                                vec_push(&args, arena_strdup(arena, word));
        } else {
                for (char *at = raw; at < raw + n; at += strlen(at) + 1)
                        vec_push(&args, arena_strdup(arena, at));
        }
        *ret_n = (uint32_t)args.n;
        copy = arena_memdup(arena, args.items, args.n * sizeof(*args.items));
        vec_free(&args);
        return copy;
}

/* Arguments in one line, as far as there is room. */
static size_t join_args(const char *const *args, uint32_t n_args, char *to, size_t cap) {
        size_t n = 0;

        for (uint32_t i = 0; i < n_args && n + 1 < cap; i++) {
                size_t len = strlen(args[i]);

                if (i > 0)
                        to[n++] = ' ';
                len = MIN(len, cap - 1 - n);
                memcpy(to + n, args[i], len);
                n += len;
        }
        while (n > 0 && to[n - 1] == ' ')
                n--;
        to[n] = '\0';
        return n;
}

/* One text of several words: arguments that stand apart are those of a program, this one or the one it has just become. */
static bool is_one_text(const char *raw, size_t n_bytes) {
        size_t n = strlen(raw);

        if (!strchr(raw, ' '))
                return false;
        while (n < n_bytes && !raw[n])
                n++;
        return n >= n_bytes;
}

bool proc_title(pid_t pid, const char *const *args, uint32_t n_args,
                char ret_title[PROC_MAX_TITLE_BYTES]) {
        char raw[PROC_MAX_TITLE_BYTES], before[PROC_MAX_TITLE_BYTES], path[64];
        ssize_t n;
        size_t len;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        n = fs_read_text(path, raw, sizeof(raw));
        if (n <= 0 || !raw[0] || !is_one_text(raw, (size_t)n))
                return false;
        len = strlen(raw);
        while (len > 0 && raw[len - 1] == ' ')
                raw[--len] = '\0';
        join_args(args, n_args, before, sizeof(before));
        /* arguments that were read when the title was there already are its words */
        if (strcmp(raw, before) == 0 && !is_title(raw, (size_t)n))
                return false;
        memcpy(ret_title, raw, len + 1);
        return true;
}

const char *proc_exe(struct arena *arena, pid_t pid) {
        char path[64], target[4096];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        n = readlink(path, target, sizeof(target));
        return n > 0 ? arena_strndup(arena, target, (size_t)n) : "";
}

/* The fields of /proc/PID/stat behind the command's name, which may hold spaces and brackets itself. */
static const char *proc_stat_fields(pid_t pid, char *buf, size_t cap) {
        char path[64];
        const char *close;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (fs_read_text(path, buf, cap) <= 0 || !(close = strrchr(buf, ')')))
                return NULL;
        return close + 1;
}

double proc_started_s(pid_t pid) {
        char buf[1024];
        const char *at = proc_stat_fields(pid, buf, sizeof(buf));
        unsigned long long ticks;

        if (!at ||
            sscanf(at,
                   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                   &ticks) != 1)
                return -1;
        return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

char proc_state(pid_t pid) {
        char buf[1024], state;
        const char *fields = proc_stat_fields(pid, buf, sizeof(buf));

        return fields && sscanf(fields, " %c", &state) == 1 ? state : 'X';
}

uint64_t proc_cpu_ns(pid_t pid) {
        clockid_t clock;

        return clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

bool proc_is_running(pid_t pid) {
        char state = proc_state(pid);

        return state != 'Z' && state != 'X';
}

bool proc_is_stopped(pid_t pid) {
        return proc_state(pid) == 'T';
}

/* The last of the 50 fields behind the name; 0 for whom the kernel does not let in. */
bool proc_end_status(pid_t pid, int *ret_wait_status) {
        enum { FIELD = 50 };
        char buf[1024];
        const char *at = proc_stat_fields(pid, buf, sizeof(buf));
        int status;

        for (int i = 1; at && i < FIELD; i++)
                at = strchr(at + 1, ' ');
        if (!at || proc_state(pid) != 'Z' || sscanf(at, " %d", &status) != 1 || status == 0)
                return false;
        *ret_wait_status = status;
        return true;
}

pid_t proc_parent(pid_t pid) {
        char buf[1024], state;
        const char *fields = proc_stat_fields(pid, buf, sizeof(buf));
        int parent = 0;

        if (!fields || sscanf(fields, " %c %d", &state, &parent) != 2)
                return 0;
        return parent;
}

/* A file that was removed or replaced since it was started has another name there. */
static bool proc_runs(pid_t pid, const char *exe) {
        static const char deleted[] = " (deleted)";
        char path[64], target[4096 + sizeof(deleted)];
        size_t len = strlen(exe);
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        n = readlink(path, target, sizeof(target) - 1);
        if (n <= 0 || len == 0)
                return false;
        target[n] = 0;
        return strncmp(target, exe, len) == 0 &&
               (!target[len] || strcmp(target + len, deleted) == 0);
}

int proc_open_pagemap(pid_t pid, const char *exe) {
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (proc_runs(pid, exe))
                return fd;
        close(fd);
        return -ESRCH;
}

bool proc_comm(pid_t pid, pid_t tid, char ret_name[17]) {
        char path[64], buf[64];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
        n = fs_read_text(path, buf, sizeof(buf));
        if (n <= 0)
                return false;
        buf[strcspn(buf, "\n")] = 0;
        snprintf(ret_name, 17, "%.16s", buf);
        return true;
}

bool proc_is_called(pid_t pid, const char *name) {
        char now[17], path[64], exe[4096];
        ssize_t n;

        if (!proc_comm(pid, pid, now))
                return false;
        if (strncmp(now, name, PROC_COMM_BYTES) == 0)
                return true;
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid); /* it may have renamed itself */
        n = readlink(path, exe, sizeof(exe) - 1);
        exe[MAX(n, 0)] = 0;
        return n > 0 &&
               strncmp(strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe, name, PROC_COMM_BYTES) == 0;
}

bool proc_is_kernel(pid_t pid) {
        char path[64], text[512];
        const char *at;
        unsigned flags;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        at = strrchr(text, ')');
        return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
               (flags & PROC_KTHREAD);
}

/* Asked of the kernel and not of /proc, which may hide other users' processes. */
bool proc_thread_is_alive(pid_t pid, pid_t tid) {
        return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

/* The last number of the line NSpid: how the task calls itself. *ret_n_levels: 1 in our own namespace. */
static pid_t proc_number_inside(const char *status_path, unsigned *ret_n_levels) {
        char buf[4096], *at, *end;
        long number = 0;

        *ret_n_levels = 0;
        if (fs_read_text(status_path, buf, sizeof(buf)) <= 0 || !(at = strstr(buf, "\nNSpid:")))
                return 0;
        for (at += strlen("\nNSpid:"); *at && *at != '\n'; at = end) {
                long next = strtol(at, &end, 10);

                if (end == at)
                        break;
                number = next;
                ++*ret_n_levels;
        }
        return (pid_t)number;
}

bool proc_has_other_numbers(pid_t pid) {
        char path[64];
        unsigned n_levels;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        proc_number_inside(path, &n_levels);
        return n_levels > 1;
}

pid_t proc_find_inside(pid_t inside_pid, double since_s) {
        DIR *dir = opendir("/proc");
        struct dirent *e;
        pid_t found = 0;

        while (dir && (e = readdir(dir))) {
                pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
                unsigned n_levels;
                char path[64];

                if (pid <= 0)
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
                if (proc_number_inside(path, &n_levels) != inside_pid || n_levels < 2 ||
                    proc_started_s(pid) < since_s)
                        continue;
                found = found ? -1 : pid;
        }
        if (dir)
                closedir(dir);
        return found > 0 ? found : 0;
}

bool proc_thread_is_alive_inside(pid_t pid, pid_t inside_tid) {
        char path[80];
        bool is_alive = false;
        struct dirent *e;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        dir = opendir(path);
        while (dir && !is_alive && (e = readdir(dir))) {
                unsigned n_levels;

                snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, e->d_name);
                is_alive = proc_number_inside(path, &n_levels) == inside_tid;
        }
        if (dir)
                closedir(dir);
        return is_alive;
}

static uint64_t proc_field_kb(const char *status, const char *name) {
        const char *at = strstr(status, name);

        return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

bool proc_memory(pid_t pid, struct proc_memory *ret) {
        unsigned long long minflt, majflt, utime, stime;
        char path[64], buf[4096];
        const char *fields = proc_stat_fields(pid, buf, sizeof(buf));

        if (!fields || sscanf(fields, " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu",
                              &minflt, &majflt, &utime, &stime) != 4)
                return false;
        ret->minor_faults = minflt;
        ret->major_faults = majflt;
        ret->cpu_ns = (utime + stime) * (1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK));
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (fs_read_text(path, buf, sizeof(buf)) <= 0 || !strstr(buf, "\nRssAnon:"))
                return false; /* a zombie has no memory lines */
        ret->anon_bytes = proc_field_kb(buf, "\nRssAnon:");
        ret->file_bytes = proc_field_kb(buf, "\nRssFile:");
        ret->shmem_bytes = proc_field_kb(buf, "\nRssShmem:");
        ret->peak_bytes = proc_field_kb(buf, "\nVmHWM:");
        return true;
}

uint64_t proc_peak_bytes(pid_t pid) {
        char path[64], buf[4096];

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        return fs_read_text(path, buf, sizeof(buf)) > 0 ? proc_field_kb(buf, "\nVmHWM:") : 0;
}
