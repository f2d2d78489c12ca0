/* SPDX-License-Identifier: MIT */
#include "record/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

static bool oom_read_counter(const char *path, uint64_t *ret_n_kills) {
        char text[8192];
        const char *at;

        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        at = strncmp(text, "oom_kill ", 9) == 0 ? text : strstr(text, "\noom_kill ");
        if (!at)
                return false;
        *ret_n_kills = strtoull(strchr(at, ' '), NULL, 10);
        return true;
}

static uint64_t oom_machine_kills(const char *proc_root) {
        char path[512];
        uint64_t n = 0;

        snprintf(path, sizeof(path), "%s/vmstat", proc_root);
        oom_read_counter(path, &n);
        return n;
}

/* A line of /proc/PID/cgroup: "0::/path" (version 2) or "5:memory:/path" (version 1, maybe among others). */
static bool oom_try_line(struct oom_watch *w, char *line, const char *cgroup_root) {
        char *controllers = strchr(line, ':'), *group;

        if (!controllers || !(group = strchr(controllers + 1, ':')))
                return false;
        *group++ = 0;
        controllers++;
        if (!*controllers) {
                static const char *const mounts[] = {"", "/unified"};

                for (size_t i = 0; i < 2; i++) {
                        snprintf(w->path, sizeof(w->path), "%s%s%s/memory.events", cgroup_root,
                                 mounts[i], group);
                        if (oom_read_counter(w->path, &w->n_kills))
                                return true;
                }
        } else if (strstr(controllers, "memory")) {
                snprintf(w->path, sizeof(w->path), "%s/memory%s/memory.oom_control", cgroup_root,
                         group);
                if (oom_read_counter(w->path, &w->n_kills))
                        return true;
        }
        w->path[0] = 0;
        return false;
}

void oom_watch_begin(struct oom_watch *w, pid_t pid, const char *proc_root,
                     const char *cgroup_root) {
        char path[512], text[4096], *line, *rest = text;

        memset(w, 0, sizeof(*w));
        w->n_machine_kills = oom_machine_kills(proc_root);
        snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root, (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return;
        while ((line = strsep(&rest, "\n")))
                if (oom_try_line(w, line, cgroup_root))
                        return;
}

bool oom_watch_fired(const struct oom_watch *w, const char *proc_root) {
        uint64_t n;

        if (w->path[0] && oom_read_counter(w->path, &n))
                return n > w->n_kills;
        return oom_machine_kills(proc_root) > w->n_machine_kills;
}
