/* SPDX-License-Identifier: MIT */
/* From what a user names, a process or a trace, to the path of a trace to follow (live/follower.h). A trace is taken as it is; of a
 * process that is being recorded the trace that its recorder writes; else silt attaches to it: a `silt attach` of its own writes to a
 * private file, and leaves the process when the subject is closed, or when silt dies.
 *
 *   live_subject_open(&(struct live_subject_options){.who = argv[1]}, &s, &err);
 *   follower_open(&(struct follower_options){.path = live_subject_path(s)}, &f, &err);
 *   …
 *   live_subject_free(s);                                // the process is as before, the file is gone
 *
 * The thread that opened it must live as long: where it ends, the attaching child does too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct live_subject;

struct live_subject_options {
        const char *who; /* a pid, or the path of a trace */
        /* Of `silt attach`, up to a NULL; NULL: LIVE_SUBJECT_USUAL. They must not name a file. */
        const char *const *attach_options;
};

/* Cheap enough for a process in production, and bounded, however long somebody looks on. */
#define LIVE_SUBJECT_USUAL                                                                         \
        ((const char *const[]){"--sample", "512K", "--max-size", "64M", "--lossy", NULL})

/* Returns when the trace can be read, or with what `silt attach` says is wrong. */
int live_subject_open(const struct live_subject_options *o, struct live_subject **ret,
                      struct err *reterr);
/* Leaves the process, where silt attached to it, and waits until it has. NULL ok; returns NULL */
struct live_subject *live_subject_free(struct live_subject *s);
DEFINE_CLEANUP(struct live_subject, live_subject_free)

const char *live_subject_path(const struct live_subject *s);
pid_t live_subject_pid(const struct live_subject *s);        /* 0: a trace was named */
bool live_subject_is_attached(const struct live_subject *s); /* silt did so itself */

/* Where silt attached itself: the process is as before, and what was recorded can still be read. */
void live_subject_leave(struct live_subject *s);
/* Leaves the process, and gives the trace a name in the working directory, which *ret_path is. For the end:
 * the trace that was followed is not there any more. */
int live_subject_keep(struct live_subject *s, char *ret_path, size_t cap, struct err *reterr);
