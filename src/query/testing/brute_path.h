/* SPDX-License-Identifier: MIT */
/* For tests: what groups and trees put together, as plain texts compared one by one. */
#pragma once

#include "name/name.h"
#include "query/query.h"

/* The frames of a stack as text, innermost first; folded unless is_full. */
struct brute_path {
        char **texts;
        size_t n;
        bool has_function; /* `function` is on it; then it is the first text */
        /* with `function`: from its outermost occurrence on, outwards or inwards */
};

enum brute_by {
        BRUTE_FUNCTION,
        BRUTE_FRAME_LINE,
        BRUTE_ADDRESS,
        BRUTE_MODULE,
        BRUTE_SOURCE_LINE,
        BRUTE_CRATE,
        BRUTE_COMPONENT, /* begins with BRUTE_PASSES where it leaves its memory to its caller */
};

#define BRUTE_PASSES "passing "

struct brute_path brute_path(struct names *names, const struct trace_view *v, uint32_t stack,
                             enum brute_by by, bool is_full);
/* The path from the outermost frame of that name on: it first, then outwards, or else inwards. */
struct brute_path brute_path_from(struct names *names, const struct trace_view *v, uint32_t stack,
                                  enum brute_by by, bool is_full, const char *function,
                                  bool outwards);
void brute_path_done(struct brute_path *p);

/* The text of a frame of an answer, to be freed. */
char *brute_frame_text(struct names *names, const struct query_frame *f, enum brute_by by);
char *brute_path_text(const struct brute_path *p); /* all of it in one, to be freed */

/* Of the stacks that are selected leaves those that are shown, line by line, as one of these; or the others. */
void brute_path_keep_sites(const struct trace_view *v, const uint64_t *sites, unsigned n,
                           bool is_negated, bool *selected);
