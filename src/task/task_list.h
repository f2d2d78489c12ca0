/* SPDX-License-Identifier: MIT */
/* The tasks of a graph, in groups by what they run and where they were spawned. Inside task/ only. */
#pragma once

#include "base/vec.h"
#include "keep/held_graph.h"
#include "task/task_runtimes.h"
#include "task/task_waits.h"

struct task {
        uint32_t block, group;
        struct task_word word;
};

/* Who points to the finished tasks of a group, or to all where none is finished. */
struct task_keeper {
        uint32_t text;    /* in the texts: "a JoinSet" */
        uint64_t n_tasks; /* that are pointed to so */
        uint32_t block;   /* one of those that do; REACH_NONE: a variable or a thread does */
};

enum { TASK_MAX_KEEPERS = 4 };

struct task_group {
        const struct task_layout *layout;
        enum task_kind kind;
        uint32_t type;  /* in the texts; 0: unknown */
        bool is_merged; /* or it is of another type whose code is the same */
        uint64_t code;  /* where the type is unknown: the function that tells it from others */
        uint32_t site;  /* where they were spawned, in the texts; REACH_NO_SITE: unknown */
        uint32_t stack; /* one call path of those; REACH_NO_SITE: unknown */
        uint64_t n, n_in[N_TASK_STATES];
        uint64_t n_handles, n_cancelled, n_given_up;
        uint64_t bytes, finished_bytes;
        uint64_t retained_bytes;       /* with all that would be freed with them */
        uint64_t first_seq, last_seq;  /* allocations; UINT64_MAX, 0: unknown */
        uint64_t oldest_ns, newest_ns; /* how long ago; UINT64_MAX: unknown */
        uint64_t busy_ns,
                n_samples; /* of CPU, of all tasks that run the type, where ticks are recorded */
        struct task_keeper keepers[TASK_MAX_KEEPERS]; /* the first has most */
        uint32_t n_keepers;
        struct task_waits waits;
};

/* Blocks that a runtime's functions belong to, but no layout that is known. */
struct task_unknown {
        const char *runtime;
        bool is_broken; /* the layout is one that is known, the words are not */
        uint64_t n, bytes;
};

struct task_list {
        VEC(struct task) tasks;        /* by block */
        VEC(struct task_group) groups; /* most bytes first, those of the runtime itself last */
        VEC(struct task_unknown) unknown;
        uint64_t n_in[N_TASK_STATES]; /* of all but the runtime's own */
        uint64_t n, n_own, bytes;
        uint64_t
                n_typeless; /* of those that are no coroutines: names that tell types are missing */
        bool has_ticks;     /* samples of CPU time were recorded */
        uint64_t
                n_nameless; /* blocks with a table of functions that have no name: symbols are missing */
};

/* texts: those the graph was opened with. 0 or -ENOMEM. */
int task_list_make(struct task_list *l, struct held_graph *g, struct query *q,
                   const struct frame_names *names, struct site_texts *texts);
void task_list_done(struct task_list *l);

/* Sets the keepers of each group (task_keepers.c). 0 or -ENOMEM. */
int task_keepers_find(struct task_list *l, const struct held_graph *g,
                      const struct frame_names *names, struct site_texts *texts);

/* Sets what those of each group wait for, where call paths are recorded (task_waits.c). 0 or -errno. */
int task_waits_find(struct task_list *l, struct query *q, size_t graph_idx, struct err *reterr);

/* Sets how long each group ran, where the trace has ticks (task_busy.c). */
void task_busy_add(struct task_list *l, const struct held_graph *g, struct query *q,
                   const struct site_texts *texts);
