/* SPDX-License-Identifier: MIT */
#include "record/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

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

static void oom_add_counter(struct oom_watch *w, const struct oom_counter *c) {
        for (size_t i = 0; i < MIN(w->n_counters, (size_t)OOM_N_COUNTERS); i++)
                if (strcmp(w->counters[i].path, c->path) == 0)
                        return;
        w->counters[w->n_counters++ % OOM_N_COUNTERS] = *c;
}

/* A container may see its own group as the root of the mounted tree while /proc still tells the path from the
 * machine's root: then a tail of the path is the one to be found. */
static bool oom_try_group(struct oom_watch *w, const char *tree, const char *group,
                          const char *file) {
        struct oom_counter c;

        for (const char *tail = group; tail; tail = strchr(tail + 1, '/')) {
                snprintf(c.path, sizeof(c.path), "%s%s/%s", tree, tail[1] ? tail : "", file);
                if (oom_read_counter(c.path, &c.n_kills)) {
                        oom_add_counter(w, &c);
                        return true;
                }
        }
        snprintf(c.path, sizeof(c.path), "%s/%s", tree, file);
        if (!oom_read_counter(c.path, &c.n_kills))
                return false;
        oom_add_counter(w, &c);
        return true;
}

/* A line of /proc/PID/cgroup: "0::/path" (version 2) or "5:memory:/path" (version 1, maybe among others). */
static bool oom_try_line(struct oom_watch *w, char *line, const char *cgroup_root) {
        char *controllers = strchr(line, ':'), *group, tree[300];

        if (!controllers || !(group = strchr(controllers + 1, ':')))
                return false;
        *group++ = 0;
        controllers++;
        if (*group != '/')
                return false;
        if (strstr(controllers, "memory")) {
                snprintf(tree, sizeof(tree), "%s/memory", cgroup_root);
                return oom_try_group(w, tree, group, "memory.oom_control");
        }
        if (*controllers)
                return false;
        snprintf(tree, sizeof(tree), "%s/unified", cgroup_root);
        return oom_try_group(w, cgroup_root, group, "memory.events") ||
               oom_try_group(w, tree, group, "memory.events");
}

const char *oom_watch_follow(struct oom_watch *w, pid_t pid, const char *proc_root,
                             const char *cgroup_root) {
        char path[512], text[sizeof(w->groups)], *line, *rest = text;
        size_t n_before = w->n_counters;

        snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root, (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || strcmp(text, w->groups) == 0)
                return NULL;
        memcpy(w->groups, text, sizeof(text));
        while ((line = strsep(&rest, "\n")))
                if (oom_try_line(w, line, cgroup_root))
                        break;
        return w->n_counters > n_before ? w->counters[n_before % OOM_N_COUNTERS].path : NULL;
}

void oom_watch_begin(struct oom_watch *w, pid_t pid, const char *proc_root,
                     const char *cgroup_root) {
        memset(w, 0, sizeof(*w));
        w->n_machine_kills = oom_machine_kills(proc_root);
        oom_watch_follow(w, pid, proc_root, cgroup_root);
}

/* All groups it was in, not the last alone: one that is dying is shown in the root group (version 1). */
bool oom_watch_take(struct oom_watch *w, const char *proc_root) {
        bool has_counter = false;
        uint64_t n;

        for (size_t i = 0; i < MIN(w->n_counters, (size_t)OOM_N_COUNTERS); i++) {
                if (!oom_read_counter(w->counters[i].path, &n))
                        continue;
                if (n > w->counters[i].n_kills) {
                        w->counters[i].n_kills++;
                        return true;
                }
                has_counter = true;
        }
        if (has_counter || oom_machine_kills(proc_root) <= w->n_machine_kills)
                return false;
        w->n_machine_kills++;
        return true;
}
