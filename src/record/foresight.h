/* SPDX-License-Identifier: MIT */
/* What can be known of a program's own allocators before it runs: files are read while silt prepares the rest, so that the
 * program, which cannot go on without them, need not wait for it. */
#pragma once

#include "patch/known_files.h"
#include "record/program_check.h"
#include "record/supervisor.h"

struct foresight;

/* NULL: there is nothing to look for. program: that of the options. Both stay until the end. */
struct foresight *foresight_begin(const struct run_options *o,
                                  const struct checked_program *program);

/* Says what cannot be hooked, and fills *memory. Frees; NULL ok. */
void foresight_end(struct foresight *f, struct known_files *memory);
