/* SPDX-License-Identifier: MIT */
/* What the views by group, as a tree and as a histogram share. Inside report/ only. */
#pragma once

#include "base/json.h"
#include "base/units.h"
#include "query/query.h"
#include "report/gather.h"
#include "show/style.h"

struct view {
        const struct report_options *o;
        struct query *q;
        const struct trace_view *v;
        struct report r; /* only what names and stacks need */
        struct style s;  /* text only */
        struct json j;   /* JSON only */
        FILE *out;
        const char *schema; /* of JSON */
        enum query_metric metric;
        struct query_scope scope;
        const struct query_answer *answer; /* to name the process that holds most; NULL: not yet */
};

/* Reads the options. */
int view_init(struct view *v, FILE *out, struct query *q, const struct report_options *o,
              const char *schema, struct err *reterr);

/* ---- metrics --------------------------------------------------------------------------------- */

bool metric_is_count(enum query_metric m); /* of blocks, not bytes */
/* What all of the scope has of a metric; 0: shares make no sense. */
const char *metric_text(enum query_metric m, int64_t value, struct unit_text *t);
double metric_share_pct(int64_t value, uint64_t whole);

/* "live at the peak", "still allocated at the end": behind a number of bytes or blocks. */
void view_add_state(const struct view *v, struct str *to);
/* "6.0 MiB live at the peak", "12,345 allocations". */
void view_add_whole(const struct view *v, const struct query_totals *t, struct str *to);
/* The sentence where the whole is nothing. */
void view_add_nothing(const struct view *v, const struct query_answer *a, struct str *to);
/* " (97 %)"; nothing where there is no whole. 100 % is all of it. */
void view_add_share(struct str *to, int64_t value, uint64_t whole);
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
void view_print_doubts(const struct view *v, const struct query_answer *a);

/* ---- JSON ------------------------------------------------------------------------------------ */

void view_put_frame(struct json *j, const struct query_frame *f);
/* "stack": its frames, innermost first. */
void view_put_stack(struct json *j, const struct query *q, uint32_t stack);
void view_put_figures(struct json *j, const char *key, const struct query_figures *f,
                      enum query_metric m);
/* Window, filter and totals of the scope as answered. */
void view_put_scope(struct view *v, const struct query_scope *scope);
void view_put_answer(struct view *v, const struct query_answer *a);
/* What of a histogram is in an object that is open: exact, blocks, bytes, buckets. */
void view_put_histogram(struct json *j, const struct query_histogram *h);
void view_end(struct view *v); /* closes the object and the line */

/* ---- the views ------------------------------------------------------------------------------- */

int report_groups(FILE *out, struct query *q, const struct report_options *o, struct err *reterr);
int report_tree(FILE *out, struct query *q, const struct report_options *o, struct err *reterr);
int report_histogram(FILE *out, struct query *q, const struct report_options *o,
                     struct err *reterr);
