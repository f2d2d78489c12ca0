/* SPDX-License-Identifier: MIT */
/* A line drawn into columns: how high it was in each. Inside query/ only. */
#pragma once

#include "query/query.h"

struct pick;

struct timeline {
        struct query *q;
        const struct query_scope *scope;
        struct query_column *columns;
        size_t n_columns;
        uint64_t from_ns, to_ns; /* to_ns: the window's end, or the recording's */
        uint64_t n_events_left;  /* that may still be read */
        uint64_t level;          /* live bytes at `time_ns` */
        uint64_t time_ns;
};

void timeline_hold_until(struct timeline *t, uint64_t time_ns); /* the level stays what it is */
void timeline_step_to(struct timeline *t, uint64_t time_ns, uint64_t level);
/* The level goes in a straight line to `level` at time_ns: nothing better is known. */
void timeline_slope_to(struct timeline *t, uint64_t time_ns, uint64_t level);

/* The live bytes of the blocks that were picked. */
int timeline_draw_picked(struct timeline *t, const struct pick *pick, struct err *reterr);
