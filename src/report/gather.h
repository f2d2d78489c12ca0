/* SPDX-License-Identifier: MIT */
/* Everything a report says, asked once; text and JSON only write it down. Inside report/ only. */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "finding/finding.h"
#include "name/name.h"
#include "query/query.h"
#include "report/report.h"

enum {
        REPORT_MAX_EVENTS =
                4000000, /* read for threads' figures and for fine timelines; --full reads them all */
        REPORT_MAX_EVENTS_LIVED = 16 * REPORT_MAX_EVENTS, /* of a trace, for lifetimes */
        REPORT_JSON_COLUMNS = 100,
};

/* Frames of one module, or of code in none. */
struct report_module {
        const char *path; /* "" none */
        uint64_t n_frames, n_named, n_guessed, n_lined;
        uint64_t n_unlined_allocs; /* asked for by code of it that has no source line */
        const struct trace_module_names *names; /* NULL: the trace says nothing of it */
};

struct report_quality {
        double complete_stacks_pct, symbolized_frames_pct, guessed_frames_pct;
        double bytes_per_event;
        bool is_exact; /* nothing that happened is missing from the figures */
        double lined_frames_pct;
        struct report_module *modules; /* those with frames, most frames first; in the arena */
        size_t n_modules;
        double unlined_allocs_pct; /* of all of the scope: asked for by code without a source line */
};

struct report {
        const struct report_options *options;
        struct query *q;
        const struct trace_view *v;
        struct names *names;      /* the caller's */
        struct query_scope scope; /* as answered: see query_answer */
        enum query_metric metric;
        struct query_answer *answer;
        const struct query_answer *
                all; /* of all processes together, in the same window: where there are several and none
                                         * was asked for; else NULL. The answer itself, but in the summary as JSON */
        struct query_answer *beside;   /* `all`, where that is another; owned */
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

int report_gather(struct query *q, const struct report_options *o, struct names *names,
                  struct report *ret, struct err *reterr);
void report_done(struct report *r);

/* The scope the options ask for. */
int report_scope(struct query *q, const struct report_options *o, struct query_scope *ret,
                 struct err *reterr);

/* Appends "cannot be told: …", with what to do, without a full stop. */
void report_add_untold(uint64_t known_from_ns, struct str *to);

bool report_is_windowed(const struct report *r);
bool report_is_filtered(const struct report *r);
/* Few enough events, or all are asked for. Lifetimes need the rows of every slice only. */
bool report_counts_sizes(const struct report *r);
bool report_counts_lifetimes(const struct report *r);
const struct trace_process_info *report_process(
        const struct report *r); /* of the scope; of all: the main one */
const char *report_ended_name(uint32_t ended);

/* naming.c: fills what quality says of names; appends a sentence, if there is something to say; as JSON. */
void report_count_names(struct report *r);
void report_count_lines(struct report *r, const struct query_groups *sites);
bool report_naming_note(const struct report *r, struct str *to);
void report_put_naming(struct json *j, const struct report *r);

/* What is told, and to whom. */
int report_text(FILE *out, struct report *r, struct err *reterr);
int report_json(FILE *out, struct report *r, struct err *reterr);
int report_blocks(FILE *out, struct query *q, const struct report_options *o, struct names *names,
                  struct err *reterr);
