/* SPDX-License-Identifier: MIT */
#include "attach/frozen_check.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/machine.h"
#include "attach/process_check.h"
#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"
#include "base/units.h"

enum {
        CHECK_PATH_BYTES = 4400,
        CHECK_SPARE_TASKS = 8, /* that the program may want itself meanwhile */
        CHECK_CAP_SYS_ADMIN = 21,
        CHECK_CAP_SYS_RESOURCE = 24,

        CHECK_FORK_EVENTS = 2, /* UFFD_FEATURE_EVENT_FORK */
};

static const uint64_t no_limit = UINT64_MAX;

struct subject {
        pid_t pid;
        char name[32], status[8192];
};

/* The number behind a name at the begin of a line; 0: it is not there. */
static uint64_t field(const char *text, const char *name) {
        const char *at = text;
        size_t n = strlen(name);

        for (; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
                if (strncmp(at, name, n) == 0)
                        return strtoull(at + n, NULL, 10);
        return 0;
}

/* A file that holds a number, or "max". */
static uint64_t read_number(const char *folder, const char *file) {
        char path[CHECK_PATH_BYTES + 64], text[64];

        snprintf(path, sizeof(path), "%s/%s", folder, file);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
                return no_limit;
        return strtoull(text, NULL, 10);
}

static int read_subject(struct subject *s, pid_t pid) {
        char path[64];
        ssize_t n;

        *s = (struct subject){.pid = pid};
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        n = fs_read_text(path, s->status, sizeof(s->status));
        if (n <= 0)
                return n < 0 ? (int)n : -ESRCH;
        sscanf(s->status, "Name:\t%31[^\n]", s->name);
        return 0;
}

/* At most so much can a copy take while the process writes on: what that has itself, page by page. */
static uint64_t most_bytes(const struct subject *s) {
        return (field(s->status, "RssAnon:") + field(s->status, "VmPTE:")) << 10;
}

/* ---- cgroups -------------------------------------------------------------------------------------- */

/* Its folder of this controller, of either version; false: there is none. */
static bool find_group(pid_t pid, const char *controller, char *ret, bool *ret_is_old) {
        char path[64], text[16384], *line, *rest = text;
        const char *unified = NULL;

        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        while ((line = strsep(&rest, "\n"))) {
                char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;

                if (!at)
                        continue;
                *at++ = '\0';
                names++;
                if (!*names)
                        unified = at;
                for (char *name; (name = strsep(&names, ","));)
                        if (strcmp(name, controller) == 0) {
                                *ret_is_old = true;
                                return snprintf(ret, CHECK_PATH_BYTES, "/sys/fs/cgroup/%s%s",
                                                controller, at) < CHECK_PATH_BYTES;
                        }
        }
        *ret_is_old = false;
        return unified &&
               snprintf(ret, CHECK_PATH_BYTES, "/sys/fs/cgroup%s", unified) < CHECK_PATH_BYTES;
}

/* From its own group up to the root: limits of all hold. fn: what is left in this one, or no_limit. */
static uint64_t least_in_groups(pid_t pid, const char *controller,
                                uint64_t (*fn)(const char *folder, bool is_old)) {
        static const char root[] = "/sys/fs/cgroup";
        char folder[CHECK_PATH_BYTES];
        uint64_t least = no_limit;
        bool is_old;

        if (!find_group(pid, controller, folder, &is_old))
                return no_limit;
        for (;;) {
                uint64_t left = fn(folder, is_old);
                char *slash = strrchr(folder, '/');

                least = MIN(least, left);
                if (!slash || (size_t)(slash - folder) < sizeof(root) - 1)
                        return least;
                *slash = '\0';
        }
}

static uint64_t tasks_left(const char *folder, bool is_old) {
        uint64_t most = read_number(folder, "pids.max"), now = read_number(folder, "pids.current");

        (void)is_old;
        return most == no_limit || now == no_limit ? no_limit : most > now ? most - now : 0;
}

/* Pages of files can go. */
static uint64_t group_bytes_left(const char *folder, bool is_old) {
        uint64_t most = read_number(folder, is_old ? "memory.limit_in_bytes" : "memory.max");
        uint64_t now = read_number(folder, is_old ? "memory.usage_in_bytes" : "memory.current");
        uint64_t swap_most = is_old ? no_limit : read_number(folder, "memory.swap.max");
        uint64_t swap_now = is_old ? no_limit : read_number(folder, "memory.swap.current");
        char path[CHECK_PATH_BYTES + 64], text[8192];
        uint64_t files = 0, left;

        if (most == no_limit || now == no_limit)
                return no_limit;
        snprintf(path, sizeof(path), "%s/memory.stat", folder);
        if (fs_read_text(path, text, sizeof(text)) > 0)
                files = field(text, is_old ? "total_inactive_file " : "inactive_file ");
        now -= MIN(now, files);
        left = most > now ? most - now : 0;
        if (swap_most != no_limit && swap_now != no_limit && swap_most > swap_now)
                left += swap_most - swap_now;
        return left;
}

/* ret_group: the one that has the least left; NULL: not asked for. */
static uint64_t memory_left(pid_t pid, struct memory_group *ret_group) {
        const struct memory_roots *roots = memory_roots();
        uint64_t least = no_limit, left;
        struct memory_group g;

        if (!memory_group_find(pid, roots->proc, roots->cgroup, &g))
                return no_limit;
        do {
                left = group_bytes_left(g.folder, g.version == 1);
                if (left < least && ret_group)
                        *ret_group = g;
                least = MIN(least, left);
        } while (memory_group_rise(&g));
        return least;
}

/* ---- each reason ------------------------------------------------------------------------------------- */

static int check_kernel(const struct subject *s, struct err *reterr) {
        /* closes nothing: there is no such descriptor */
        if (syscall(SYS_close_range, UINT32_MAX, UINT32_MAX, 0u) < 0 && errno == ENOSYS)
                return err_set(reterr, -ENOSYS,
                               "process %d (%s): cannot copy it: copying needs Linux 5.9 or newer",
                               (int)s->pid, s->name);
        return 0;
}

static bool is_free_of_limits(const struct subject *s) {
        const char *at = strstr(s->status, "\nCapEff:");
        uint64_t caps = at ? strtoull(at + 8, NULL, 16) : 0;

        return field(s->status, "Uid:") == 0 || caps >> CHECK_CAP_SYS_ADMIN & 1 ||
               caps >> CHECK_CAP_SYS_RESOURCE & 1;
}

static uint64_t count_tasks(uint64_t uid) {
        DIR *dir = opendir("/proc");
        struct dirent *one;
        uint64_t n = 0;

        while (dir && (one = readdir(dir))) {
                struct subject s;

                if (one->d_name[0] >= '0' && one->d_name[0] <= '9' &&
                    read_subject(&s, (pid_t)atoi(one->d_name)) == 0 &&
                    field(s.status, "Uid:") == uid)
                        n += field(s.status, "Threads:");
        }
        if (dir)
                closedir(dir);
        return n;
}

static uint64_t task_limit(pid_t pid) {
        char path[64], text[4096];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return no_limit;
        at = strstr(text, "Max processes");
        at = at ? at + strlen("Max processes") : "";
        at += strspn(at, " ");
        return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : no_limit;
}

static int check_tasks(const struct subject *s, struct err *reterr) {
        uint64_t limit = is_free_of_limits(s) ? no_limit : task_limit(s->pid);
        uint64_t left = least_in_groups(s->pid, "pids", tasks_left);

        if (left < CHECK_SPARE_TASKS)
                return err_set(
                        reterr, -EAGAIN,
                        "process %d (%s): its cgroup may have %" PRIu64
                        " more processes, and silt copies it only if there are %d: raise pids.max",
                        (int)s->pid, s->name, left, CHECK_SPARE_TASKS);
        if (limit != no_limit && count_tasks(field(s->status, "Uid:")) + CHECK_SPARE_TASKS > limit)
                return err_set(
                        reterr, -EAGAIN,
                        "process %d (%s): its user may have %" PRIu64
                        " processes, and silt copies it only if %d of them are free: raise the limit (prlimit --pid %d --nproc)",
                        (int)s->pid, s->name, limit, CHECK_SPARE_TASKS, (int)s->pid);
        return 0;
}

static int refuse_memory(const struct subject *s, uint64_t need, uint64_t left, const char *where,
                         const char *remedy, struct err *reterr) {
        struct unit_text a, b;

        return err_set(
                reterr, -ENOMEM,
                "process %d (%s): a copy can need %s while the program writes on, and %s has %s left: %s",
                (int)s->pid, s->name, unit_bytes(&a, need), where, unit_bytes(&b, left), remedy);
}

static int check_memory(const struct subject *s, struct err *reterr) {
        uint64_t need = most_bytes(s), left;
        struct memory_group group = {0};
        char text[8192], remedy[ROOM_PATH_BYTES + 64];

        if (fs_read_text("/proc/meminfo", text, sizeof(text)) <= 0)
                return 0;
        left = (field(text, "MemAvailable:") + field(text, "SwapFree:")) << 10;
        if (need > left)
                return refuse_memory(s, need, left, "this machine", "free so much, or add swap",
                                     reterr);
        left = memory_left(s->pid, &group);
        if (need > left) {
                snprintf(remedy, sizeof(remedy), "raise %s of %.180s",
                         group.version == 1 ? "memory.limit_in_bytes" : "memory.max", group.folder);
                return refuse_memory(s, need, left, "its cgroup", remedy, reterr);
        }
        if (read_number("/proc/sys/vm", "overcommit_memory") == 2) {
                uint64_t limit = field(text, "CommitLimit:"), now = field(text, "Committed_AS:");

                /* twice: the program may want some itself meanwhile */
                need = (field(s->status, "VmData:") + field(s->status, "VmStk:")) << 11;
                left = limit > now ? (limit - now) << 10 : 0;
                if (need > left)
                        return refuse_memory(s, need, left, "this machine's commit limit",
                                             "raise vm.overcommit_ratio, or add swap", reterr);
        }
        return 0;
}

bool frozen_room(pid_t pid, struct frozen_room *ret) {
        struct subject s;
        char text[8192];

        if (read_subject(&s, pid) < 0 || fs_read_text("/proc/meminfo", text, sizeof(text)) <= 0)
                return false;
        ret->need_bytes = most_bytes(&s);
        ret->left_bytes = MIN((field(text, "MemAvailable:") + field(text, "SwapFree:")) << 10,
                              memory_left(pid, NULL));
        return true;
}

/* Who watches its faults is asked about every child, and may be one of the threads that stand still. */
static int check_faults(const struct subject *s, struct err *reterr) {
        char folder[64], path[400], text[1024];
        struct dirent *one;
        bool is_asked = false;
        DIR *dir;

        snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)s->pid);
        dir = opendir(folder);
        while (dir && !is_asked && (one = readdir(dir))) {
                uint64_t version = 0, features = 0;
                ssize_t n;

                snprintf(path, sizeof(path), "%s/%s", folder, one->d_name);
                n = readlink(path, text, sizeof(text) - 1);
                text[MAX(n, 0)] = '\0';
                if (!strstr(text, "[userfaultfd]"))
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)s->pid, one->d_name);
                if (fs_read_text(path, text, sizeof(text)) <= 0)
                        continue;
                is_asked = strstr(text, "API:") &&
                           sscanf(strstr(text, "API:"), "API: %" SCNx64 ":%" SCNx64, &version,
                                  &features) == 2 &&
                           (features & CHECK_FORK_EVENTS);
        }
        if (dir)
                closedir(dir);
        return is_asked
                       ? err_set(reterr, -ENOTSUP,
                                 "process %d (%s) handles faults of its memory itself (userfaultfd), and would wait for its own answer to a copy: silt does not copy it",
                                 (int)s->pid, s->name)
                       : 0;
}

int frozen_check(pid_t pid, struct err *reterr) {
        struct subject s;
        int r = process_check(pid, machine_own.elf_machine, reterr);

        if (r < 0)
                return r;
        r = read_subject(&s, pid);
        if (r < 0)
                return process_explain(pid, r, reterr);
        r = check_kernel(&s, reterr);
        if (r == 0)
                r = check_tasks(&s, reterr);
        if (r == 0)
                r = check_memory(&s, reterr);
        return r < 0 ? r : check_faults(&s, reterr);
}
