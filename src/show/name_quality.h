/* SPDX-License-Identifier: MIT */
/* How many frames have names and lines, and what the modules of the others lack. */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "query/query.h"

/* Frames of one module, or of code in none. */
struct name_module {
        const char *path; /* "" none */
        uint64_t n_frames, n_named, n_guessed, n_lined;
        uint64_t n_unlined_allocs; /* asked for by code of it that has no source line */
        const struct trace_module_names *names; /* NULL: the trace says nothing of it */
};

struct name_quality {
        double symbolized_frames_pct, guessed_frames_pct, lined_frames_pct;
        struct name_module *modules; /* those with frames, most frames first; in the arena */
        size_t n_modules;
        double unlined_allocs_pct; /* of all counted: asked for by code without a source line */
        bool is_of_time;           /* that is time and no allocations */
};

void name_quality_count(struct name_quality *n, struct query *q, struct arena *arena);
/* Of the sites of an answer; after the frames were counted. */
void name_quality_count_lines(struct name_quality *n, const struct query_groups *sites,
                              bool is_of_time);

/* Appends a sentence where there is something to say; else false. */
bool name_quality_add_note(const struct name_quality *n, const struct query *q, struct str *to);
/* "lined_frames_pct" and "modules" */
void name_quality_put(struct json *j, const struct name_quality *n);
