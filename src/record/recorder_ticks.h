/* SPDX-License-Identifier: MIT */
/* CPU samples beside allocations (`silt run --cpu`): what the ticker tells becomes ticks of the processes and threads that the
 * pipeline knows, at call paths whose frames are those of allocations. Processes that nothing of silt is in get a place in the trace of
 * their own. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Before the target runs, or, attached, from now on. Without --cpu nothing happens, here and below. */
int recorder_begin_ticks(struct recorder *r, struct err *reterr);

uint64_t recorder_take_ticks(void *ctx, uint64_t now_ns);

/* Before the image's end is written: all ticks of it are in the trace. */
void recorder_settle_ticks(struct recorder *r, const struct image *one);

/* A copy of the program that silt made for itself: it is no process of it. */
void recorder_leave_out_ticks(struct recorder *r, pid_t pid);
/* Before the last slice ends. */
void recorder_finish_ticks(struct recorder *r);

/* Samples so far, for the closing words. */
void recorder_tell_ticks(const struct recorder *r, struct control_message *m);
