/* SPDX-License-Identifier: MIT */
#include "watch/recorders.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/proc.h"
#include "record/snapshot_protocol.h"

/* The name of a trace in the folder that it has open. */
static void find_trace(struct recorders_one *one, const char *folder) {
        size_t n_folder = strlen(folder);
        char path[64], target[4096];
        struct dirent *e;
        ssize_t n;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)one->pid);
        dir = opendir(path);
        while (dir && !one->name[0] && (e = readdir(dir))) {
                n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
                if (n <= (ssize_t)n_folder)
                        continue;
                target[n] = '\0';
                if (strncmp(target, folder, n_folder) == 0 && target[n_folder] == '/' &&
                    strncmp(target + n_folder + 1, "silt.", 5) == 0 &&
                    (size_t)n - n_folder <= sizeof(one->name))
                        snprintf(one->name, sizeof(one->name), "%s", target + n_folder + 1);
        }
        if (dir)
                closedir(dir);
}

void recorders_find(struct recorders *r, const char *folder, const pid_t *pids, size_t n_pids) {
        char name[17];

        for (size_t i = 0; i < n_pids; i++) {
                struct recorders_one *one;

                if (!proc_comm(pids[i], pids[i], name) || strcmp(name, SNAPSHOT_RECORDER_NAME) != 0)
                        continue;
                one = vec_add(&r->list);
                one->pid = pids[i];
                one->parent = proc_parent(pids[i]);
                shared_memory_list(pids[i], &one->shared);
                find_trace(one, folder);
        }
}

void recorders_done(struct recorders *r) {
        for (size_t i = 0; i < r->list.n; i++)
                vec_free(&r->list.items[i].shared);
        vec_free(&r->list);
}

bool recorders_have(const struct recorders *r, pid_t pid) {
        shared_files mine = {0};
        bool is_shared = false;

        if (r->list.n)
                shared_memory_list(pid, &mine);
        for (size_t i = 0; i < r->list.n && !is_shared; i++)
                is_shared = shared_memory_meet(&r->list.items[i].shared, &mine);
        vec_free(&mine);
        return is_shared;
}
