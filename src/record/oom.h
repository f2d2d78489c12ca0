/* SPDX-License-Identifier: MIT */
/* Was a SIGKILL the kernel's answer to full memory? Told by the kill counters of the memory cgroups (version 1 or 2)
 * the processes were in, else by that of the whole machine. The counters do not name whom they counted: each kill is
 * taken for that of the first process that was killed after it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OOM_N_COUNTERS = 8 };

struct oom_counter {
        char path[640];   /* file with the counter */
        uint64_t n_kills; /* before the watch began, and those that are accounted for */
};

struct oom_watch {
        struct oom_counter counters[OOM_N_COUNTERS];
        size_t n_counters; /* ever found; the last OOM_N_COUNTERS are kept */
        uint64_t n_machine_kills;
        char groups[2048]; /* /proc/PID/cgroup as it was last */
};

/* proc_root and cgroup_root are "/proc" and "/sys/fs/cgroup" but for tests. */
void oom_watch_begin(struct oom_watch *w, pid_t pid, const char *proc_root,
                     const char *cgroup_root);

/* Another process, or one that may have moved to another cgroup: to be called now and then while it lives. */
const char *oom_watch_follow(
        struct oom_watch *w, pid_t pid, const char *proc_root,
        const char *cgroup_root); /* the counter it found, when it is new; else NULL */

/* A process was killed: by the kernel? Then that kill is accounted for. */
bool oom_watch_take(struct oom_watch *w, const char *proc_root);
