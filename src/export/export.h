/* SPDX-License-Identifier: MIT */
/* Writes a trace in the forms that other tools read: one file of this folder for each (docs/formats.md).
 *
 *   r = export_format_find("pprof", &format, &err);
 *   r = export_write(out, &options, &told, &err);      // everything is in out, or r < 0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "request/request.h"

/* What of a request a format can carry. */
enum export_carries {
        EXPORTS_METRIC = 1, /* one metric that the request chooses */
        EXPORTS_WINDOW = 2, /* a part of the time */
        EXPORTS_FILTER = 4, /* a part of the blocks */
        EXPORTS_EVENTS = 8, /* it consists of single events: recordings of totals have none */
        EXPORTS_TIME = 16,  /* where the time went, too: cpu and blocked */
};

struct export_format {
        const char *name;   /* "heaptrack" */
        const char *ending; /* of its files: ".heaptrack.zst" */
        const char *opener; /* what to do with the file: "open it with heaptrack_gui" */
        const char *lacks;  /* what it cannot carry, as a sentence's end; "" nothing */
        unsigned carries;   /* enum export_carries */
        bool is_binary;     /* not for a terminal */
};

/* All of them; NULL ends the names of an error. */
int export_format_find(const char *name, const struct export_format **ret, struct err *reterr);
void export_add_names(struct str *to); /* "folded, pprof, …" */

struct export_options {
        const char *path;   /* of the trace */
        const char *output; /* the name of what is written; NULL: it has none */
        const struct export_format *format;
        const struct request *request;
};

struct export_told {
        uint64_t n_rows;  /* events, call paths or snapshots: what the format consists of */
        const char *rows; /* what they are, in the plural: "call paths" */
        const char
                *lacks;   /* what the format does not have of it, as a sentence's end; "" nothing */
        char note[400];   /* worth saying: a choice that was made; "" nothing */
        char damage[200]; /* what of the trace could not be read; "" nothing is missing */
        struct str unseen; /* what the recording does not have, or only estimates: sentences */
};

/* Nothing is said on any terminal but the bar of an opened trace. */
int export_write(FILE *out, const struct export_options *o, struct export_told *ret,
                 struct err *reterr);
/* Also after an error. */
void export_told_done(struct export_told *told);
