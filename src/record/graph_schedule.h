/* SPDX-License-Identifier: MIT */
/* Graphs that nobody asks for (recorder_graph.h): every so often, a few times when memory is at a new high and stays there, once when the kernel
 * begins to press for memory, and once when it becomes scarce, while a copy of the program still fits.
 * A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Somebody sent the signal that means it. */
void recorder_graph_on_signal(struct recorder *r);

/* The program was killed for lack of memory: why there is no graph, where one was wanted. */
void recorder_note_no_graph(struct recorder *r);

/* A row of the observers. */
uint64_t recorder_schedule_graphs(void *recorder, uint64_t now_ns);
uint64_t recorder_graph_schedule_due(const void *recorder);
