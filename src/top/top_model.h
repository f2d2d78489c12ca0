/* SPDX-License-Identifier: MIT */
/* All that one frame of silt top shows, asked of the follower at once: every figure is of the same moment. */
#pragma once

#include "base/str.h"
#include "bill/bill_brief.h"
#include "live/follower.h"
#include "show/frame.h"
#include "task/task_brief.h"
#include "top/timeline_past.h"

enum model_sort {
        MODEL_BY_LIVE,
        MODEL_BY_GROWTH,
        MODEL_BY_CHURN, /* allocations in the window */
        MODEL_BY_BYTES, /* allocated in the window */
        MODEL_BY_CPU,   /* time its own code ran in the window, where that is recorded */
        MODEL_N_SORTS,
};

enum { MODEL_MAX_COLUMNS = 512, MODEL_MAX_PROCESSES = 256 };

struct model_ask {
        enum query_by by; /* site, function, line, module, component */
        enum model_sort sort;
        bool of_mappings;   /* rows of what the program mapped itself, in place of blocks */
        bool of_tasks;      /* rows of tasks in frames of text, in place of functions */
        const char *filter; /* functions on call paths that have this in their name; "": all */
        size_t n_columns;   /* of the timeline, at most MODEL_MAX_COLUMNS */
        const struct timeline_past *past; /* NULL: none */
};

struct model_process {
        uint32_t process;
        bool is_alive, has_rss;
        uint64_t live_bytes, rss_bytes;
        double allocs_per_s;
        int64_t growth_bytes;
};

struct model {
        struct follower_now now;
        struct model_ask ask; /* without the filter */
        struct str filter;
        struct query *q; /* the follower's */
        struct frame_names names;
        uint64_t sample_bytes; /* 0: every event is in it */
        double live_error_bytes;
        bool is_attached_late;       /* it ran before it was recorded */
        struct query_answer *answer; /* of the window, filtered */
        struct query_answer *mapped; /* the same of mappings; NULL: not asked for */
        struct query_answer *ran;    /* the same of time on a CPU; NULL: nobody looks at it */
        struct query_groups *groups;
        uint64_t *cpu_ns; /* of the groups, in the window; NULL: nobody looks at the CPU */
        uint64_t all_cpu_ns, hot_cpu_ns;
        bool is_of_time; /* a profile of time alone: what memory does is unknown, beyond what is resident */
        struct str hot; /* the function that ran most, for hot_cpu_ns */
        struct query_column columns[MODEL_MAX_COLUMNS]; /* of the last minutes, past included */
        double column_cpus[MODEL_MAX_COLUMNS];          /* busy in each, where it is of time */
        size_t n_columns;
        uint64_t columns_span_ns;                            /* up to now */
        struct model_process processes[MODEL_MAX_PROCESSES]; /* most live first */
        size_t n_processes, n_all_processes;
        uint32_t process; /* whose figures these are; QUERY_ALL */
        /* What tasks did in the newest graph. Read when there is another graph, and kept from frame to frame */
        struct task_brief tasks;
        size_t n_graphs;
        uint32_t tasks_process;
        const struct query *tasks_of; /* whose names it has: to be compared alone */
        /* What was resident at the newest look at that, kept likewise; has_brief: there was one */
        struct bill_brief brief;
        bool has_brief;
        size_t n_bills;
        uint32_t brief_process;
};

/* On failure the model is empty: no groups, no answer. */
int model_fill(struct model *m, struct follower *f, const struct model_ask *ask,
               struct err *reterr);
void model_done(struct model *m);

/* What it shows, for a recording that comes after this one. */
void model_keep_timeline(const struct model *m, struct timeline_past *ret);

/* Of sums, which another tool made, growth and rates are unknown, and more may be: the lacks_* of its totals. */
const struct query_totals *model_totals(const struct model *m);
/* Growth and what is so often in a second; not of sums of another tool, nor of events without times. */
bool model_has_rates(const struct model *m);

/* Call paths are of time where rows are sorted by it: what they hold is not told then. */
bool model_has_time_paths(const struct model *m);
const struct query_answer *model_paths(const struct model *m);
enum query_metric model_paths_metric(const struct model *m);

/* "resident"; "resident at most" where several processes may share pages, each of which counts them. */
const char *model_resident_label(const struct model *m);
double model_per_s(const struct model *m, double in_window);
/* CPUs that a group kept busy, on average over the window. */
double model_cpus(const struct model *m, size_t group_idx);
/* The same of figures of a call path, where those are of time. */
double model_path_cpus(const struct model *m, const struct query_figures *f);
/* The same of all that ran. */
double model_all_cpus(const struct model *m);
/* The sentence a frame begins with: what it holds, what that does, who is behind it, and what silt did not see. */
void model_add_sentence(const struct model *m, struct str *to);
/* The same about tasks: what the newest graph shows, or how to get one. `has_key`: a key does. */
void model_add_task_sentence(const struct model *m, bool has_key, struct str *to);
/* What a group is called; `utf8`: in which letters. */
void model_add_name(const struct model *m, const struct query_group *g, bool utf8, struct str *to);
