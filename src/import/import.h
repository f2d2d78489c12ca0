/* SPDX-License-Identifier: MIT */
/* Makes a trace of what other tools recorded: one file of this folder for each of their formats (docs/formats.md).
 *
 * What comes out is a whole trace, names included, that passes `silt verify`; what the source does not know is said in it
 * as a limit (trace/limit.h). Files are hostile: an error is one line that names the place in the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct import_options {
        /* What to read of files that count several things; NULL: what they put first. */
        const char *sample_type;
};

struct import_told {
        const char *title;  /* "a heaptrack recording"; a constant */
        uint64_t n_events;  /* 0: totals alone */
        uint64_t n_moments; /* of totals */
        uint64_t n_stacks;
        bool is_reordered;        /* by the numbers in the names: import_sequence.h */
        const char *first, *last; /* of the paths, as they were taken */
};

/* Reads all of paths, which are of one format, into the empty file fd. Several are moments of one program, in the order of the
 * numbers in their names, else in that given. options
 * and ret may be NULL. */
int import_files(const char *const *paths, size_t n_paths, const struct import_options *options,
                 int fd, struct import_told *ret, struct err *reterr);

/* Called now and then while files are read, with how much of the file at hand; for all from now on. NULL: nobody. */
typedef bool (*import_progress_fn)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
void import_set_progress(import_progress_fn fn, void *ctx);

/* What the file at fd is, "a pprof profile", if import_files reads it; else NULL. By its first bytes. Its offset does not move. */
const char *import_title(int fd);
