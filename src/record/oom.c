/* SPDX-License-Identifier: MIT */
#include "record/oom.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"

static bool oom_read_counter(const char *path, uint64_t *ret_n_kills) {
        char text[8192];
        uint64_t n;

        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        n = memory_field(text, "oom_kill");
        if (n == ROOM_UNKNOWN)
                return false;
        *ret_n_kills = n;
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

const char *oom_watch_follow(struct oom_watch *w, pid_t pid, const char *proc_root,
                             const char *cgroup_root) {
        char path[512], text[sizeof(w->groups)];
        size_t n_before = w->n_counters;
        struct memory_group group;
        struct oom_counter c;

        snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root, (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || strcmp(text, w->groups) == 0)
                return NULL;
        memcpy(w->groups, text, sizeof(text));
        if (!memory_group_parse(text, cgroup_root, &group))
                return NULL;
        snprintf(c.path, sizeof(c.path), "%s/%s", group.folder, memory_group_counter(&group));
        if (oom_read_counter(c.path, &c.n_kills))
                oom_add_counter(w, &c);
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
