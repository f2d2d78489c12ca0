/* SPDX-License-Identifier: MIT */
/* What changed between two recordings, or two windows of one: for people (text) and for programs (JSON, schema
 * silt.diff/1). docs/diff.md tells what is compared with what. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "name/match.h"
#include "name/name.h"

struct query_filter;

/* What is asked of one recording. */
struct diff_source {
        const char *path;
        uint64_t from_ns, to_ns; /* window [from_ns, to_ns); to_ns UINT64_MAX: to the end */
        const char *from_name,
                *to_name;    /* moments of the recording instead, without '@'; NULL: none */
        bool is_at;          /* to_ns is a moment asked for: it must be in the recording */
        const char *process; /* as query_choose_process takes it; NULL: all */
};

struct diff_options {
        struct diff_source sources[NAME_N_SIDES]; /* the same path twice: two windows of one */
        const char *metric; /* peak end allocated count temporary growth; NULL: peak */
        uint32_t n_top;     /* rows of each table */
        bool has_top;       /* n_top was asked for */
        bool json;
        bool full;       /* whole stacks, long names, every row */
        bool per_second; /* flows are divided by the length of their window */
        bool is_strict;  /* only call paths that are the same are matched, nothing is chance */
        double min_change_pct;     /* of the larger total; smaller changes are of no note … */
        uint64_t min_change_bytes; /* … and these too (allocations, where the metric counts) */
        struct query_filter
                *filter; /* which blocks count; NULL: all. Whoever parsed the options frees it */
        struct name_sources rules; /* how functions are called, beside what is built in */
};

enum { DIFF_MIN_BYTES = 256, DIFF_MIN_COUNT = 4 }; /* changes below are noise */

#define DIFF_OPTIONS_DEFAULT                                                                       \
        ((struct diff_options){.sources = {{.to_ns = UINT64_MAX}, {.to_ns = UINT64_MAX}},          \
                               .n_top = 15,                                                        \
                               .min_change_pct = 1,                                                \
                               .min_change_bytes = UINT64_MAX})

/* Opens the traces and prints what changed; *ret_found: whether something of note did. Nothing is printed when it
 * fails. */
int diff_print(FILE *out, const struct diff_options *options, bool *ret_found, struct err *reterr);
