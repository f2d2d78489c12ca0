/* SPDX-License-Identifier: MIT */
/* The tasks and sources of the newest graph of a process as rows for a screen: texts alone, so that nothing of the graph or the trace stays open
 * (docs/tasks.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "show/frame.h"
#include "task/task_runtimes.h"

struct arena;

/* Tasks that run the same type and were spawned at the same place. Texts are "" where nobody knows. */
struct task_brief_row {
        enum task_kind kind;
        const char *runs;            /* "app::serve" */
        const char *spawned;         /* "spawned at server.rs:88 by serve" */
        const char *place;           /* "server.rs:88" */
        const char *kept_by;         /* who keeps those that are finished: "a JoinSet" */
        const char *function, *file; /* of whoever spawned them */
        uint32_t line;
        uint64_t n, n_in[N_TASK_STATES], bytes;
        uint64_t oldest_ns; /* UINT64_MAX: unknown */
};

/* Sources of GLib's main loops, of one kind with one callback, that were added at the same place. */
struct source_brief_row {
        const char *what;            /* "timeouts that call on_tick" */
        const char *added;           /* "added at main.c:20" */
        const char *function, *file; /* of whoever added them */
        uint32_t line;
        uint64_t n, n_waiting, n_ready, n_running, n_unattached, n_removed;
        uint64_t n_same;           /* with the callback and the data of another one */
        uint64_t bytes, oldest_ns; /* UINT64_MAX: unknown */
};

struct task_brief {
        bool has_graph;
        bool is_known; /* the rows are all there are; else the graph cannot be read, or has no heads of tasks */
        bool has_tasks;   /* or sources; else the sentence says that there are none */
        bool is_nameless; /* some functions have no names (yet), which might tell more */
        uint64_t at_ns;   /* the graph's moment */
        const char *sentence;
        struct task_brief_row *rows; /* most bytes first, the runtime's own last */
        size_t n_rows;
        struct source_brief_row *sources; /* most first */
        size_t n_sources;
        struct arena *arena; /* of all texts */
};

/* QUERY_ALL: of any process. Of a graph that cannot be read the sentence is its error. */
void task_brief_read(struct task_brief *b, struct query *q, const struct frame_names *names,
                     uint32_t process);
void task_brief_done(struct task_brief *b);
