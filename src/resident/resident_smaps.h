/* SPDX-License-Identifier: MIT */
/* /proc/PID/smaps as areas of a struct resident. The text is the kernel's, the names in it are the program's: nothing in it is believed without a bound.
 *  - mappings beside each other that are alike become one area
 *  - a stack is what a thread's stack pointer is in, above a guard; and what lies above a guard and is as large as those
 *  - zeroed data behind a file's is private memory with that file's name
 *  - the kernel joins what lies side by side: where one begins inside a mapping, the pages tell it apart (pagemap_fd) */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "resident/resident.h"
#include "resident/thread_stacks.h"

enum {
        SMAPS_MAX_LINES = 1 << 23,
        SMAPS_MAX_AREAS = 1 << 17,
        SMAPS_MAX_DEVICES = 256,
};

/* What else is known of the process. All of it may be empty. */
struct smaps_context {
        struct thread_stacks stacks;
        VEC(uint64_t) memory_devices; /* of tmpfs: files there are shared memory */
        int pagemap_fd;               /* -1: what the kernel joined stays so */
        char root[64];                /* where its files are: "/proc/4711/root"; "" as here */
        const struct smaps_range {
                uint64_t begin, end;
        } * runtime; /* silt's own memory in it, by address */
        size_t n_runtime;
};

/* "/proc/PID/mountinfo" */
void smaps_read_devices(struct smaps_context *c, FILE *mountinfo);
void smaps_context_done(struct smaps_context *c); /* closes pagemap_fd */

/* Fills areas, names, rss, pss and swap. Areas are not capped. False: that is no smaps. */
bool resident_smaps(struct resident *r, FILE *smaps, const struct smaps_context *c);

/* "/proc/PID/status": page tables, locked and huge pages. */
void resident_status(struct resident *r, const char *text);
