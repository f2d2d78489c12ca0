/* SPDX-License-Identifier: MIT */
/* Notes with which a recording says how it ended where that is not its processes' end: forms that its readers know. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* The recorder itself was killed; whoever started it says so. */
#define RECORDER_KILLED_NOTE "recorder: killed by the kernel because memory ran out"
/* Behind it: */
#define RECORDER_BOTH_KILLED "; so was the program"
/* Before a sentence's rest: why there is no graph of holders though one was wanted. */
#define NO_GRAPH_NOTE "no graph of holders: "
#define GRAPH_FAILED_NOTE "what points to what is not known: "

static inline bool recorder_end_is_kill(const char *note) {
        return strncmp(note, RECORDER_KILLED_NOTE, strlen(RECORDER_KILLED_NOTE)) == 0;
}
