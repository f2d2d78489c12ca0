/* SPDX-License-Identifier: MIT */
/* A trace that silt writes for itself, to look on: in a folder of its own in $TMPDIR. It goes when whoever made it is done, and also
 * when that is killed: a small process (the keeper) waits until nobody has it any more, and removes it. Inside live/ only. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct private_trace {
        char folder[512]; /* "": there is none */
        char path[600];
        pid_t keeper; /* 0: none; then a killed silt leaves the file behind */
        int held_fd; /* whoever writes it inherits this too: closed by all, the keeper removes the trace */
};

/* Refuses where there is no room: a recorder would hold its events in memory. pid: for the name. */
int private_trace_make(struct private_trace *p, pid_t pid, struct err *reterr);
/* When nobody writes it any more: gives it a name of its own in the working directory, silt.<program>.<pid>.silt, or -2 and so on where
 * there is one. The trace stays where it is on failure, and private_trace_remove does not touch it. */
int private_trace_keep(struct private_trace *p, const char *program, pid_t pid, char *ret_path,
                       size_t cap, struct err *reterr);
void private_trace_remove(struct private_trace *p); /* also without one */
