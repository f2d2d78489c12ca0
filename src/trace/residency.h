/* SPDX-License-Identifier: MIT */
/* Rows of RESI chunks, both ways (docs/trace-format.md, "RESI"). */
#pragma once

#include "base/bytes.h"
#include "trace/model.h"

/* *last_ns: time of the row before in its chunk, 0 for the first. */
void trace_encode_residency(bytes_buf *out, const struct trace_residency *row, uint64_t *last_ns);

/* False: the bytes end inside the row, or its numbers cannot be. */
bool trace_decode_residency(struct bytes_reader *r, uint64_t *last_ns, struct trace_residency *ret);
