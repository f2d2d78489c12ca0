/* SPDX-License-Identifier: MIT */
/* A limit for a program and whatever it starts (docs/lab.md): a control group, or what comes nearest where none can be made. silt
 * itself stays outside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "lab/cgroup_place.h"

/* In the order in which they are tried. */
enum group_maker {
        GROUP_CGROUP2,
        GROUP_CGROUP1,
        GROUP_SYSTEMD, /* systemd-run --scope, which makes the group */
        GROUP_RLIMIT,  /* address space of each process: no group */
        GROUP_N_MAKERS,
};

struct group_limits {
        uint64_t memory_bytes; /* 0: none */
        uint64_t high_bytes;   /* from here on the program is throttled; 0: none */
        uint64_t own_bytes;    /* that silt adds to both for what it needs in the program */
        uint64_t swap_bytes;
        bool has_swap; /* swap_bytes counts */
        double n_cpus; /* 0: none */
};

struct group {
        const struct place *place;
        enum group_maker maker;
        struct group_limits limits;
        char memory_dir[PLACE_PATH_CAP];  /* empty: none */
        char cpu_dir[PLACE_PATH_CAP];     /* version 1 has one of its own; empty: none */
        char unit[64];                    /* of systemd */
        char enabled_dir[PLACE_PATH_CAP]; /* version 2: where controllers were enabled for it … */
        struct str enabled;               /* … and how to disable them */
        struct str skipped;               /* the makers before this one, and why they could not */
};

struct group_usage {
        bool has_peak, has_kills;
        uint64_t peak_bytes, now_bytes; /* of the group */
        uint64_t n_kills;               /* by the kernel, because the group was full */
};

const char *group_maker_name(enum group_maker m); /* "cgroup v1" */

/* The first maker that can, or the one of this name (NULL: any). Groups of earlier runs that nobody is in are removed. */
int group_make(struct group *g, const struct place *place, const struct group_limits *limits,
               const char *only, struct err *reterr);

/* Moves a process in. */
int group_enter(const struct group *g, pid_t pid, struct err *reterr);
/* In the process itself, before it becomes the program. */
void group_limit_self(const struct group *g);
/* Words to put before the command, such as systemd-run's, NULL-ended; NULL: none. The group frees nothing of it. */
char **group_command(struct group *g, char **argv);

int group_set_memory(struct group *g, uint64_t memory_bytes, struct err *reterr);
void group_look(const struct group *g, struct group_usage *ret);

/* How many processes are in it; with a signal, which each of them is sent. */
size_t group_signal(const struct group *g, int signo);
/* Ends who is still in it: SIGTERM, after grace_ms SIGKILL. Returns how many there were. */
size_t group_end(const struct group *g, int grace_ms);

/* Nobody may be in it. Then it is done, whether it could be removed or not. */
int group_remove(struct group *g);

/* Who it is and what it limits, in words: "512.0 MiB of memory, no swap, by cgroup v1 ('/sys/…/silt-lab-4711')". */
void group_describe(const struct group *g, struct str *ret);
