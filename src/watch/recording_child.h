/* SPDX-License-Identifier: MIT */
/* One recording of a watch: a `silt attach` in a process of its own, in a group of its own, that goes on when the watch is killed.
 *
 * Recordings that a watch left behind, or whose first process has ended while its children go on, are taken over: such a one can be
 * seen to end and asked to, and says nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/supervisor.h"

struct recording_child {
        pid_t target;
        pid_t pid; /* of the silt that records it; of one that was taken over, whom to ask to end */
        int fd;    /* readable when it says something or, taken over, has ended */
        bool is_taken_over;
        bool is_recording; /* it has entered the process */
        bool is_asked;     /* to end */
        uint64_t began_ns;
        char program[17];
        char path[4096 + 128]; /* of its trace */
        char said[512];        /* the last line */
        size_t n_said;         /* bytes of the line that is not whole yet */
        char saying[512];
};

/* Records o->attached. */
int recording_child_start(struct recording_child *c, const struct run_options *o,
                          struct err *reterr);
/* Takes a running recording over: silt_pid is its supervisor, or its recorder where that has gone. -errno: it is gone. */
int recording_child_adopt(struct recording_child *c, pid_t silt_pid);

/* A whole line it said. */
typedef void recording_child_line(void *ctx, const struct recording_child *c, const char *line);
/* Reads what it says; c->is_recording becomes true when it does. */
void recording_child_hear(struct recording_child *c, recording_child_line *line, void *ctx);

/* Whether it has ended; then with which status, -1: unknown. */
bool recording_child_has_ended(struct recording_child *c, int *ret_exit_status);
/* Asks it to leave the process as it was, and to end. */
void recording_child_end(struct recording_child *c);
void recording_child_done(struct recording_child *c);
