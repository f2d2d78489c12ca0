/* SPDX-License-Identifier: MIT */
/* Definitions of a trace in few chunks instead of many, for its smaller copy. */
#pragma once

#include "trace/thin_plan.h"

/* Appends META, all definitions, notes, samples (thinned) and mappings of the planned chunks. Ids stay what they
 * were. 0 or -errno. */
int thin_copy_defs(int fd, const struct plan *p, struct trace_packer *packer, bytes_buf *out);
