/* SPDX-License-Identifier: MIT */
/* Which tables there are, in the order in which people are told of them. */
#include "sql/all_tables.h"

/* clang-format off */
const struct sql_table *const sql_all_tables[] = {
        &sql_trace,
        &sql_sites,
        &sql_window,
        &sql_functions_view,
        &sql_allocations,
        &sql_live,
        &sql_events,
        &sql_timeline,
        &sql_ticks,
        &sql_stacks,
        &sql_call_paths,
        &sql_frames,
        &sql_modules,
        &sql_processes,
        &sql_threads,
        &sql_mappings,
        &sql_memory,
        &sql_marks,
        &sql_notes,
        &sql_findings,
        &sql_graphs,
        &sql_nodes,
        &sql_edges,
        &sql_holders,
        NULL,
};
