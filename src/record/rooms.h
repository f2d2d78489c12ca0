/* SPDX-License-Identifier: MIT */
/* The memory cgroups that recorded processes are in, and those above them that have a limit: what they allow and have, while it can still be asked
 * (docs/lab.md, "The black box"). Where none has a limit, the machine. A part of the recorder. */
#pragma once

#include "base/memory_room.h"
#include "record/kernel_log.h"

struct image;
struct recorder;

enum { ROOMS_MAX = 8, ROOMS_MAX_KERNEL_NOTES = 64, ROOMS_MAX_TOLD = 16 };

struct rooms_one {
        struct memory_group group; /* version 0: the machine */
        struct memory_room now;    /* as it was read last, each figure when it could be */
        struct memory_room read;   /* all of it, at last_read_ns */
        /* Before the reading that found that the kernel had killed somebody: the next one finds what was left. */
        struct memory_room before_kill;
        uint64_t kill_seen_ns; /* 0: none was */
        /* all of it is read then, or sooner, when usage is far from what it was; limit and usage are read more often */
        uint64_t next_read_ns, last_read_ns, read_bytes;
        uint64_t written_ns, written_bytes, n_rows;
        bool is_gone; /* removed: what is known stays */
};

struct rooms {
        struct rooms_one all[ROOMS_MAX];
        size_t n; /* ever found; the last ROOMS_MAX are kept */
        struct rooms_one machine;
        struct kernel_log log;
        char reason
                [KERNEL_LOG_LINE_BYTES]; /* the kernel's line before that which names the victim */
        size_t n_kernel_notes;
        size_t n_kills, n_told; /* of recorded processes; of them, those whose line was read */
        uint32_t told[ROOMS_MAX_TOLD]; /* their pids, the last ones */
};

void rooms_begin(struct recorder *r);
/* A process may have come into another group. */
void rooms_follow(struct recorder *r, pid_t pid);
/* With samples of the processes' memory. True: what is left changes, so the next should come soon, whatever the programs do. */
bool rooms_sample(struct recorder *r, uint64_t now_ns);
/* The kernel's log says that it killed this process. It knows of groups that a process was in so shortly that nobody looked. */
bool rooms_heard_of(struct recorder *r, pid_t pid);
/* The kernel has killed it. */
void rooms_take_kill(struct recorder *r, const struct image *one);
/* The last lines of the kernel; waits for one that is certain to come, 50 ms at most. */
void rooms_end(struct recorder *r);

/* All of it was read: what there was before a kill is kept. */
void rooms_take_reading(struct rooms_one *one, const struct memory_room *seen, uint64_t now_ns);
/* What it has fell, and nobody looked why: perhaps the kernel killed somebody. Or it is known that it did, just now. */
bool rooms_is_after_kill(const struct rooms_one *one, uint64_t now_ns);
/* What was there when the kernel killed somebody, at the last look before that. */
struct memory_room rooms_before_kill(const struct rooms_one *one, uint64_t now_ns);

/* The one with the least left; NULL: none has a limit. */
struct rooms_one *rooms_tightest(struct rooms *rooms);
