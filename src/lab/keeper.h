/* SPDX-License-Identifier: MIT */
/* A process outside the group that sees to it when silt cannot: if silt is killed, the keeper removes the group once nobody is in
 * it. Where the kernel cannot throttle by memory (version 1), the keeper does. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lab/limit_group.h"

struct keeper {
        pid_t pid; /* 0: none */
        int fd;    /* silt's end: it closes when silt is gone */
};

/* What becomes of the processes in the group if silt is killed. */
enum keeper_duty {
        KEEPER_WAITS, /* they go on, within their limit */
        KEEPER_KILLS, /* they are trials of silt's own */
};

int keeper_start(struct keeper *k, const struct group *g, enum keeper_duty duty,
                 struct err *reterr);
/* It is needed no longer: silt removes the group itself. */
void keeper_stop(struct keeper *k);
