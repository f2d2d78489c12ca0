/* SPDX-License-Identifier: MIT */
/* A struct resident as bytes (docs/trace-format.md, "BILL"), and back. What is read may be anything: it is refused in one line, or all numbers in it exist and all
 * that adds up does. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "resident/resident.h"

/* Of bytes, pages and blocks: sums of all rows stay below 2^64. */
#define RESIDENT_MAX_COUNT ((uint64_t)1 << 50)

/* Without process and time_ns, which stand beside it in a trace. Behind what buf has. */
void resident_encode(const struct resident *r, bytes_buf *buf);

/* To be freed with resident_done; on an error nothing is. */
int resident_decode(struct resident *r, const void *bytes, size_t n_bytes, struct err *reterr);
