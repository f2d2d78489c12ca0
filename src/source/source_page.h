/* SPDX-License-Identifier: MIT */
/* What is shown of each source file: its lines with figures, and which others belong beside them. Inside source/ only. */
#pragma once

#include "query/query.h"
#include "show/opened.h"
#include "show/view.h"
#include "source/function_lines.h"
#include "source/source_file.h"
#include "source/subject.h"

enum {
        PAGE_SHORT_LINES = 60, /* so much is shown whole */
};

/* A line that is on some call path; figures: lines->total[idx] and so on. */
struct page_row {
        uint32_t line, idx;
        bool is_subject;
        bool is_idle; /* nothing happened through it in the scope */
};

struct page {
        const struct subject_file *source;
        struct file file;
        VEC(struct page_row) rows;  /* by line */
        VEC(struct extent) ranges;  /* what to show, by line, apart */
        VEC(struct extent) extents; /* functions of the subject */
        bool has_extent;            /* of every line of the subject, or none was looked for */
        int64_t most;               /* of the metric, in a line of the subject */
};

struct pages {
        const struct source_options *o;
        struct view view;
        struct subject subject;
        struct query_answer *answer;
        struct query_lines *lines;
        VEC(uint32_t) symbol_of; /* by line: a symbol of the trace that is there */
        VEC(struct page) items;  /* largest first */
};

/* Asks the trace and reads the files. */
int pages_init(struct pages *p, FILE *out, struct query *q, const struct source_options *o,
               struct err *reterr);
void pages_done(struct pages *p); /* also after a failure */

/* The row of a line; NULL: no call path has it. */
const struct page_row *page_row_at(const struct page *page, uint32_t line);
/* The calls of a line; returns how many. */
size_t pages_calls(const struct pages *p, uint32_t idx, const struct query_call **ret);

/* The rows of a page; most: the one to point out, NULL: none. */
void source_table(const struct pages *p, const struct page *page, const struct page_row *most);
void source_text(struct pages *p);
void source_json(struct pages *p);
