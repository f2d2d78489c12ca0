/* SPDX-License-Identifier: MIT */
/* Everything a report says, asked once; text and JSON only write it down. Inside report/ only. */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "finding/finding.h"
#include "finding/time_parts.h"
#include "name/name.h"
#include "query/query.h"
#include "report/report.h"
#include "show/frame.h"
#include "show/name_quality.h"

enum {
        REPORT_MAX_EVENTS_LIVED = 16 * SHOW_MAX_EVENTS, /* of a trace, for lifetimes */
        REPORT_JSON_COLUMNS = 100,
};

struct report_quality {
        double complete_stacks_pct;
        double bytes_per_event;
        bool is_exact; /* nothing that happened is missing from the figures */
        struct name_quality names;
};

struct report {
        const struct show_options *options;
        struct query *q;
        const struct trace_view *v;
        struct names *names; /* the caller's */
        struct frame_names frames;
        struct query_scope scope; /* as answered: see query_answer */
        uint32_t looked_into;     /* the process that findings are looked for in */
        enum query_metric metric;
        struct query_answer *answer;
        const struct query_answer *
                all; /* of all processes together, in the same window: where there are several and none
                                         * was asked for; else NULL. The answer itself, but in the summary as JSON */
        struct query_answer *beside; /* `all`, where that is another; owned */
        /* the same scope, of mappings; NULL: the filter is about single blocks, or little is asked for */
        struct query_answer *mapped_answer;
        /* Where the time went, in the window of the headline and the findings (of all processes where several are told); has_time:
         * there are ticks, and the filter is not about single blocks */
        bool has_time;
        struct time_parts cpu, blocked;
        struct query_answer *main_cpu,
                *main_blocked;         /* of the summary's own scope; NULL: the same */
        VEC(struct query_site) folded; /* the answer's sites as people tell them apart */
        struct map with_parts; /* stacks of those that called several functions to get memory */
        struct query_totals
                whole; /* the same process over all of the recording, for quality and overhead */
        struct query_totals unfiltered; /* the same window, all blocks */
        struct query_thread *threads;
        size_t n_threads;
        bool threads_have_figures;
        struct query_mapping *mappings;
        size_t n_mappings;
        struct query_mapped mapped;
        struct query_resident resident; /* when most was; over all of the recording */
        struct report_quality quality;
        struct findings *findings; /* of all: of those that hold most, each told with its process */
        struct arena *arena;
};

int report_gather(struct query *q, const struct show_options *o, struct names *names,
                  struct report *ret, struct err *reterr);
void report_done(struct report *r);

/* What the sites are of: blocks; with --by mapped mappings, with --by cpu or blocked time. */
const struct query_answer *report_site_answer(const struct report *r);
/* The same by another metric; NULL: nothing is known. */
const struct query_answer *report_answer_of(const struct report *r, enum query_metric m);
bool report_is_windowed(const struct report *r);
bool report_is_filtered(const struct report *r);
/* Few enough events, or all are asked for. Lifetimes need the rows of every slice only. */
bool report_counts_sizes(const struct report *r);
bool report_counts_lifetimes(const struct report *r);
/* The site that stands there called several functions to get memory. */
bool report_has_parts(const struct report *r, uint32_t stack);
const struct trace_process_info *report_process(
        const struct report *r); /* of the scope; of all: the main one */

/* What is told, and to whom. */
int report_text(FILE *out, struct report *r, struct err *reterr);
int report_json(FILE *out, struct report *r, struct err *reterr);
int report_blocks(FILE *out, struct query *q, const struct show_options *o, struct names *names,
                  struct err *reterr);
int report_groups(FILE *out, struct query *q, const struct show_options *o, struct err *reterr);
int report_tree(FILE *out, struct query *q, const struct show_options *o, struct err *reterr);
int report_histogram(FILE *out, struct query *q, const struct show_options *o, struct err *reterr);
