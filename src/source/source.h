/* SPDX-License-Identifier: MIT */
/* The source of a function or file with what each line asked for beside it: text, or JSON (schema silt.source/1).
 *
 *   struct source_options o = SOURCE_OPTIONS_DEFAULT;
 *   o.view.path = "server.silt";
 *   o.what = "Cache::insert";                        // or "cache.cc", or "cache.cc:88"
 *   source_print(stdout, &o, &err);
 *
 * The trace says which files to read, so files are hostile as traces are: only regular files are opened, up to a size;
 * nothing of them reaches a terminal but characters that can be seen. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "show/show_options.h"

enum {
        SOURCE_MAX_MAPS = 16,
        SOURCE_MAX_DIRS = 16,
        SOURCE_MAX_CONTEXT = 1000000,
        SOURCE_USUAL_CONTEXT = 3,
};

/* Where files are that were elsewhere when the program was built: OLD=NEW. */
struct source_map {
        const char *old;
        size_t n_old;
        const char *new;
};

struct source_options {
        struct show_options view; /* the trace, what is asked of it, JSON */
        const char *what;         /* a function, FILE or FILE:LINE */
        bool is_full;             /* every line */
        uint32_t n_context;       /* lines shown around those with figures */
        struct source_map maps[SOURCE_MAX_MAPS];
        size_t n_maps;
        const char *dirs[SOURCE_MAX_DIRS];
        size_t n_dirs;
};
#define SOURCE_OPTIONS_DEFAULT                                                                     \
        ((struct source_options){.view = SHOW_OPTIONS_DEFAULT, .n_context = SOURCE_USUAL_CONTEXT})

/* Opens the trace and prints what the options ask for. Nothing is printed when it fails. */
int source_print(FILE *out, const struct source_options *o, struct err *reterr);
/* The same of a trace that is open, with the options of its view resolved. */
int source_write(FILE *out, struct query *q, const struct source_options *o, struct err *reterr);
