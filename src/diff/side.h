/* SPDX-License-Identifier: MIT */
/* One of the recordings compared: opened, asked, answered. Inside diff/ only. */
#pragma once

#include "base/str.h"
#include "diff/diff.h"
#include "query/query.h"
#include "show/frame.h"
#include "show/opened.h"

struct diff_side {
        const struct diff_source *source;
        struct request_resolved resolved; /* once it was asked */
        struct opened opened; /* of the first of two windows of one trace: they share it */
        struct query *q;
        const struct trace_view *v;
        struct query_answer *answer;
        uint64_t from_ns, to_ns; /* as answered, to_ns not behind the end */
        struct frame_names frames;
};

/* Opens the trace; beside another, with its names, and its trace when that is the same file. Must not move then. */
int side_open(struct diff_side *s, const struct diff_source *source, const struct diff_side *other,
              struct err *reterr);
int side_ask(struct diff_side *s, struct err *reterr);
void side_done(struct diff_side *s);

uint64_t side_duration_ns(const struct diff_side *s); /* of the window */
bool side_is_windowed(const struct diff_side *s);
/* The process asked about; of all, the one that holds most. */
const struct trace_process_info *side_process(const struct diff_side *s);
/* Appends the command's words, at most about max_bytes of them; nothing where it is unknown. */
void side_add_command(const struct diff_side *s, size_t max_bytes, struct str *to);
/* Appends one sentence about why its figures are not whole; nothing when they are. */
void side_add_doubt(const struct diff_side *s, struct str *to);
