/* SPDX-License-Identifier: MIT */
/* Files of other tools in place of a trace: every command that reads one takes them. */
#pragma once

#include <stddef.h>

struct import_options;
struct import_told;
struct err;
/* import_files with a bar while it takes long. */
int imported_files(const char *const *paths, size_t n_paths, const struct import_options *options,
                   int fd, struct import_told *ret, struct err *reterr);

/* Readers make a trace of such a file from now on, in a file without a name below TMPDIR. */
void imported_init(void);
