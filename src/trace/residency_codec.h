/* SPDX-License-Identifier: MIT */
/* Rows of RESI chunks (docs/trace-format.md, "RESI"). */
#pragma once

#include "base/bytes.h"
#include "trace/model.h"

/* *last_ns: time of the row before in its chunk, 0 for the first. False: the bytes end inside the row, or its numbers
 * cannot be. */
bool trace_decode_residency(struct bytes_reader *r, uint64_t *last_ns, struct trace_residency *ret);
