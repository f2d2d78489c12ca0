/* SPDX-License-Identifier: MIT */
/* What kept a recording from seeing all blocks of a process: an answer from its graph begins with that. */
#pragma once

#include "base/str.h"
#include "trace/limit.h"
#include "trace/reader.h"

/* The worst of it; false: nothing is known to be missing. */
bool missing_blocks_find(const struct trace_view *v, uint32_t process, struct trace_limit *ret);

/* Appends "Incomplete: ... Of what silt saw: "; nothing if nothing is known to be missing. */
void missing_blocks_add(const struct trace_view *v, uint32_t process, struct str *to);
