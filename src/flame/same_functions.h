/* SPDX-License-Identifier: MIT */
/* Which functions of two traces are the same one: name/match.h asked about the frames of two trees. Inside flame/ only. */
#pragma once

#include "flame/graph.h"

struct same;

/* of: two sources, the newer first; all functions of their trees are compared. */
struct same *same_new(const struct graph_source *of);
struct same *same_free(struct same *s); /* NULL ok; returns NULL */

/* Frames of the same function have the same class. */
uint32_t same_class(struct same *s, enum graph_side side, const struct query_frame *f);
