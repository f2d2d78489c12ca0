/* SPDX-License-Identifier: MIT */
/* Was a SIGKILL the kernel's answer to full memory? Told by the kill counter of the target's memory
 * cgroup (version 1 or 2), else by that of the whole machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct oom_watch {
        char path[512]; /* file with the counter; "" when none was found */
        uint64_t n_kills;
        uint64_t n_machine_kills;
};

/* proc_root and cgroup_root are "/proc" and "/sys/fs/cgroup" but for tests. */
void oom_watch_begin(struct oom_watch *w, pid_t pid, const char *proc_root,
                     const char *cgroup_root);
bool oom_watch_fired(const struct oom_watch *w, const char *proc_root);
