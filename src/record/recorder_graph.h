/* SPDX-License-Identifier: MIT */
/* What points to what in a process that is recorded (docs/holders.md): a copy of it at one moment, the blocks of that moment, and a thread that
 * reads the one with the other. A part of the recorder; one graph at a time, the others wait. */
#pragma once

#include "record/recorder_state.h"
#include "record/snapshot_protocol.h"

/* Somebody wants one; q.name as for a snapshot. The caller is answered when it is in the file, or cannot be. */
void recorder_want_graph(struct recorder *r, const struct snapshot_request *q, int caller);

/* A row of the observers: begins what is wanted, and takes what is done. */
uint64_t recorder_keep_graphs(void *recorder, uint64_t now_ns);
uint64_t recorder_graphs_due(const void *recorder);

/* In the pipeline's on_cut: the blocks are those of now. */
void recorder_graph_on_cut(struct recorder *r, uint64_t time_ns);

/* Whether it is the copy that is being read: nobody's child, though it looks like one. */
bool recorder_is_graph_copy(const struct recorder *r, pid_t pid);

/* Waits for what is under way, and for nothing that has not begun. */
void recorder_finish_graphs(struct recorder *r);
