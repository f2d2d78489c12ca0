/* SPDX-License-Identifier: MIT */
/* Ticks of a trace, old ones merged, for its smaller copy. */
#pragma once

#include "trace/thin_plan.h"

/* Appends spans of about max_bytes together: the newest as they are, times of older ones given up, each stretch the longer the more
 * there is. No sample is lost. 0 or -errno. */
int thin_copy_ticks(int fd, const struct plan *p, uint64_t max_bytes, struct trace_packer *packer,
                    bytes_buf *out);
