/* SPDX-License-Identifier: MIT */
/* The function that most CPU time was spent in. Inside finding/ only. */
#pragma once

#include "finding/time_parts.h"

/* One function, however often it is inlined; code without a name by its place. */
uint64_t time_text_key(uint64_t h, const char *text);
uint64_t time_frame_key(const struct query_frame *f);
bool time_is_kernel(const struct query_frame *f);
bool time_is_runtime(const struct query_frame *f); /* silt's own, in the program */

/* Sets has_hot and hot by the answer. */
void time_hot_find(struct query *q, struct names *names, struct time_parts *p);
