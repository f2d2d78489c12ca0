/* SPDX-License-Identifier: MIT */
/* What an answer is shown with: what was asked, where it goes, and the sentences all views share. */
#pragma once

#include "base/json.h"
#include "base/units.h"
#include "query/query.h"
#include "show/frame.h"
#include "show/show_options.h"
#include "show/style.h"

struct view {
        const struct show_options *o;
        struct query *q;
        const struct trace_view *v;
        struct frame_names frames;
        struct style s; /* text only */
        struct json j;  /* JSON only */
        FILE *out;
        const char *schema; /* of JSON */
        enum query_metric metric;
        struct query_scope scope;
        const struct query_answer *answer; /* to name the process that holds most; NULL: not yet */
};

/* The options are resolved. */
void view_init(struct view *v, FILE *out, struct query *q, const struct show_options *o,
               const char *schema);

/* ---- metrics --------------------------------------------------------------------------------- */

bool metric_is_count(enum query_metric m); /* of blocks, not bytes */
/* What all of the scope has of a metric; 0: shares make no sense. */
const char *metric_text(enum query_metric m, int64_t value, struct unit_text *t);
double metric_share_pct(int64_t value, uint64_t whole);

/* "live at the peak", "still allocated at the end": behind a number of bytes or blocks. */
void view_add_state(const struct view *v, struct str *to);
/* "6.0 MiB live at the peak", "12,345 allocations". */
void view_add_whole(const struct view *v, const struct query_totals *t, struct str *to);
/* "Detail before 3.0 s was dropped (--max-size)", or that there never were events. */
/* Why a trace without an end has none. */
/* As a sentence, with a blank behind it; nothing of a trace that is whole, or that grows while it is read. path: of the trace; NULL ok. */
void view_add_missing_end(const struct trace_view *v, const char *path, struct str *to);
void view_add_unfinished(const struct trace_view *v, bool is_being_written, struct str *to);
/* Events that could not be recorded, and what that does to others, without a full stop. */
void view_add_lost(uint64_t n_lost, uint64_t n_unknown_frees, struct str *to);
/* Events that did not reach the file, without a full stop. */
void view_add_unwritten(uint64_t n_events, struct str *to);
void view_add_missing(const struct trace_view *v, uint64_t known_from_ns, struct str *to);
/* Appends "is unknown: …", with what to do, without a full stop. */
void view_add_untold(const struct trace_view *v, uint64_t known_from_ns, struct str *to);
/* The sentence where the whole is nothing. */
void view_add_nothing(const struct view *v, const struct query_answer *a, struct str *to);
/* " (97 %)"; nothing where there is no whole. 100 % is all of it. */
void view_add_share(struct str *to, int64_t value, uint64_t whole);
/* "4.8 MiB of the 6.0 MiB live at the peak (80 %)"; of growth in a whole that shrank, the part alone. */
void view_add_part(const struct view *v, int64_t value, const struct query_totals *t,
                   struct str *to);
/* "asked for", "made": between somebody and his part of the whole. */
const char *view_verb(const struct view *v);

/* ---- names ----------------------------------------------------------------------------------- */

void view_add_name(const struct view *v, const struct query_frame *f, bool is_task, struct str *to);
void view_add_place(const struct view *v, const struct query_frame *f, struct str *to);

/* What limits the scope: process, window, filter. Nothing where it is all of a recording of one process. */
void view_add_scope(const struct view *v, struct str *to);
/* What a reader must know about how far the figures can be trusted, a line each; nothing when there is nothing. */
void view_add_doubts(const struct view *v, const struct query_answer *a, struct str *to);
/* Prints the sentence a view begins with, and what limits the scope. */
void view_print_first(const struct view *v, struct str *sentence);
/* Why an answer is not exact, as a sentence. */
const char *view_inexact(const struct query_answer *a);
void view_print_doubts(const struct view *v, const struct query_answer *a);

/* ---- JSON (what stands between them: show/show_json.h) ---------------------------------------- */

void view_begin(struct view *v); /* an object with the schema */
void view_end(struct view *v);   /* closes the object and the line */
