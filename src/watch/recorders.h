/* SPDX-License-Identifier: MIT */
/* The recorders that run on this machine, as far as they can be seen: whom they record, and which of them write into a folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"
#include "record/shared_memory.h"

struct recorders_one {
        pid_t pid, parent;
        shared_files shared; /* memory that it shares with whom it records */
        char name[96];       /* of its trace, if that is in the folder; "" if not */
};

struct recorders {
        VEC(struct recorders_one) list;
};

/* Looks for them among these processes. */
void recorders_find(struct recorders *r, const char *folder, const pid_t *pids, size_t n_pids);
void recorders_done(struct recorders *r);

/* Whether one of them records this process. */
bool recorders_have(const struct recorders *r, pid_t pid);
