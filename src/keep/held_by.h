/* SPDX-License-Identifier: MIT */
/* Who holds what a call path allocated, in one line, for views that tell of call paths. */
#pragma once

#include "base/str.h"
#include "show/frame.h"

struct held_by;

/* By the newest graph of the process. NULL: the trace has none, or it cannot be read. names must live as long. */
struct held_by *held_by_new(struct query *q, const struct frame_names *names, uint32_t process);
struct held_by *held_by_free(struct held_by *h); /* NULL ok; returns NULL */

/* Appends "static sessions+16 → insert (map.c:31)": what holds most of the blocks that were requested where this stack ends, half of them or more, the
 * outermost first. False: nothing does. */
bool held_by_add(struct held_by *h, uint32_t stack, bool utf8, struct str *to);
