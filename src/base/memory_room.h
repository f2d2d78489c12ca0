/* SPDX-License-Identifier: MIT */
/* What memory a cgroup (version 1 or 2) or the machine allows, and what it has. From text files of the kernel, which inside a container may be anybody's:
 * what cannot be read, or is no number, is unknown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROOM_UNKNOWN UINT64_MAX /* of a limit: there is none */

/* Numbers stand in files (docs/trace-format.md, "ROOM"). */
enum room_figure {
        ROOM_LIMIT = 0,      /* bytes that may be in memory */
        ROOM_USAGE = 1,      /* of them there are so many */
        ROOM_HIGH = 2,       /* from here on whoever allocates is held up; version 2 */
        ROOM_PEAK = 3,       /* the most that usage ever was */
        ROOM_SWAP_LIMIT = 4, /* bytes that may be in swap beside it */
        ROOM_SWAP = 5,
        ROOM_ANON = 6, /* of usage: memory of processes */
        ROOM_FILE = 7, /* pages of files, shared memory not counted */
        ROOM_SHMEM = 8,
        ROOM_KERNEL = 9,
        ROOM_N_MAX = 10,   /* how often the limit was hit */
        ROOM_N_HIGH = 11,  /* and ROOM_HIGH */
        ROOM_N_KILLS = 12, /* by the kernel for want of memory */
        ROOM_SOME_US = 13, /* time that some waited for memory; that all did */
        ROOM_FULL_US = 14,
        ROOM_SILT = 15, /* of usage: the recorder's own; 0 where it is not in the group */
        ROOM_N_FIGURES = 16,
};

/* What groups of silt lab have the name of, with a pid behind it, and what they allow more than was asked for: silt's runtime needs that in a
 * program (docs/lab.md has the figures). */
#define ROOM_LAB_PREFIX "silt-lab-"
enum { ROOM_LAB_OWN_BYTES = 1 << 20, ROOM_LAB_OWN_SAMPLED_BYTES = 2 << 20 };

enum { ROOM_PATH_BYTES = 512, ROOM_GROUPS_BYTES = 2048 };

struct memory_room {
        uint32_t version; /* 1, 2; 0: the machine */
        uint64_t of[ROOM_N_FIGURES];
};

/* Where the kernel's files are: "/proc", "/sys/fs/cgroup", "/dev/kmsg". For tests the variable SILT_TEST_SYSTEM names a folder with proc, cgroup and kmsg. */
struct memory_roots {
        char proc[ROOM_PATH_BYTES / 2], cgroup[ROOM_PATH_BYTES / 2], log[ROOM_PATH_BYTES / 2];
};
const struct memory_roots *memory_roots(void); /* first called before there are threads */

/* Where a group is. */
struct memory_group {
        uint32_t version;
        char folder[ROOM_PATH_BYTES];
        size_t n_tree;              /* bytes of folder: the tree that it is in */
        char path[ROOM_PATH_BYTES]; /* as /proc/PID/cgroup tells it: "/jobs/a" */
};

/* The file with the kill counter in a group's folder. */
const char *memory_group_counter(const struct memory_group *g);

/* The memory group that the text of /proc/PID/cgroup names. False: there is none, or it cannot be read. cgroup_root: "/sys/fs/cgroup" but for tests. */
bool memory_group_parse(const char *text, const char *cgroup_root, struct memory_group *ret);

/* Of a process. */
bool memory_group_find(pid_t pid, const char *proc_root, const char *cgroup_root,
                       struct memory_group *ret);

/* The group that this one is in, up to the tree's root. False: it is the root, and as it was. */
bool memory_group_rise(struct memory_group *g);

/* Whether a group is this one or somewhere below it. */
bool memory_group_is_within(const char *path, const char *above);

/* Its limit and its usage alone: two files. False: they cannot be read. */
bool memory_room_look(const struct memory_group *g, struct memory_room *ret);
/* Everything but ROOM_SILT. */
bool memory_room_read(const struct memory_group *g, struct memory_room *ret);
/* What a kill does not take away: counters, the peak, times of waiting. What cannot be read stays as it is. */
void memory_room_recount(const struct memory_group *g, const char *proc_root,
                         struct memory_room *room);
/* The machine's. */
bool memory_room_read_machine(const char *proc_root, struct memory_room *ret);

/* How much more fits, in memory; ROOM_UNKNOWN: nobody knows, or any amount. */
uint64_t memory_room_left(const struct memory_room *room);

/* The number behind a name at the begin of a line of the kernel's tables ("oom_kill 3"); ROOM_UNKNOWN: it is not there. */
uint64_t memory_field(const char *text, const char *name);
