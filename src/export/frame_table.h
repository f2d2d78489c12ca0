/* SPDX-License-Identifier: MIT */
/* The functions on call paths, numbered in the order in which they turn up: most formats have a table of them and name them by
 * number. Inside export/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/query.h"

struct frame_entry {
        const char *name; /* of the function; code without one: "module+0x1234"; the table's */
        struct query_frame frame;
};

struct frame_table {
        const struct query *q;
        VEC(struct frame_entry)
        frames;         /* those with the same function, file, line and module are one */
        struct map ids; /* hash of what makes them the same → first id + 1; chained by next */
        VEC(uint32_t) next;
        struct map locations; /* → first of its ids in `chains`, and how many */
        VEC(uint32_t) chains;
        VEC(uint32_t) path; /* of the last stack asked for */
        VEC(char *) made;   /* names of code without one */
};

void frame_table_init(struct frame_table *t, const struct query *q);
void frame_table_done(struct frame_table *t);

uint32_t frame_table_add(struct frame_table *t, const struct query_frame *f);
/* The frames of a location, innermost inlined function first. Valid until the next call. */
const uint32_t *frame_table_location(struct frame_table *t, uint32_t location, size_t *ret_n);
/* All frames of a call path, innermost first. Valid until the next call. */
const uint32_t *frame_table_path(struct frame_table *t, uint32_t stack, size_t *ret_n);
