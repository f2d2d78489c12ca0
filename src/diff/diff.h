/* SPDX-License-Identifier: MIT */
/* What changed between two recordings, or two windows of one: for people (text) and for programs (JSON, schema
 * silt.diff/1). docs/diff.md tells what is compared with what. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "name/match.h"
#include "request/request.h"

/* One recording, and what is asked of it. */
struct diff_source {
        const char *path;
        const struct request *request; /* must live as long as the options */
        struct query *q; /* NULL: path is opened. Of two open traces both have the same names */
};

struct diff_options {
        struct diff_source sources
                [NAME_N_SIDES]; /* the same path twice: two windows of one. Requests differ in process and window only */
        bool json;
        bool is_strict; /* only call paths that are the same are matched, nothing is chance */
        double min_change_pct;     /* of the larger total; smaller changes are of no note … */
        uint64_t min_change_bytes; /* … and these too (allocations, where the metric counts) */
};

/* What is asked of both: metric, filter, rules, rows. */
static inline const struct request *diff_request(const struct diff_options *o) {
        return o->sources[NAME_NEW].request;
}

enum { DIFF_USUAL_TOP = 15 }; /* rows of each table, where the request does not say */
enum {
        DIFF_MIN_BYTES = 256,
        DIFF_MIN_COUNT = 4,
        DIFF_MIN_NS = 1000000
}; /* changes below are noise */

#define DIFF_OPTIONS_DEFAULT                                                                       \
        ((struct diff_options){.sources = {{.request = &request_default},                          \
                                           {.request = &request_default}},                         \
                               .min_change_pct = 1,                                                \
                               .min_change_bytes = UINT64_MAX})

/* Opens the traces and prints what changed; *ret_found: whether something of note did. Nothing is printed when it
 * fails. */
int diff_print(FILE *out, const struct diff_options *options, bool *ret_found, struct err *reterr);
