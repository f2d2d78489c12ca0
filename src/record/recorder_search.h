/* SPDX-License-Identifier: MIT */
/* Finds the recorder of a process or of a trace, by what they have in common: shared memory, or the file. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct recorder_found {
        pid_t recorder;
        char socket[96];  /* to ask it through (snapshot_protocol.h); "": it cannot be asked */
        char trace[4096]; /* that it writes; "": unknown */
};

/* What a number means; 0: it is none, but a path. */
pid_t recorder_search_pid(const char *who);
/* who: a pid, of any process of the recording, or of silt itself, or the path of the trace that is being written. 0, or -errno with
 * what is wrong and what to do; -ESRCH: there is none. */
int recorder_search(const char *who, struct recorder_found *ret, struct err *reterr);
