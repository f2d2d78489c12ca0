/* SPDX-License-Identifier: MIT */
/* Inside sql/ only. */
#pragma once

#include "sql/table.h"

extern const struct sql_table sql_allocations;
extern const struct sql_table sql_call_paths;
extern const struct sql_table sql_edges;
extern const struct sql_table sql_events;
extern const struct sql_table sql_findings;
extern const struct sql_table sql_frames;
extern const struct sql_table sql_functions_view;
extern const struct sql_table sql_graphs;
extern const struct sql_table sql_holders;
extern const struct sql_table sql_live;
extern const struct sql_table sql_mappings;
extern const struct sql_table sql_marks;
extern const struct sql_table sql_memory;
extern const struct sql_table sql_modules;
extern const struct sql_table sql_notes;
extern const struct sql_table sql_nodes;
extern const struct sql_table sql_processes;
extern const struct sql_table sql_sites;
extern const struct sql_table sql_stacks;
extern const struct sql_table sql_threads;
extern const struct sql_table sql_ticks;
extern const struct sql_table sql_timeline;
extern const struct sql_table sql_trace;
extern const struct sql_table sql_window;
