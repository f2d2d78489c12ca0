/* SPDX-License-Identifier: MIT */
/* Live memory, or threads that ran or waited, over the time of a recording, below the frames: when what the picture shows was there. Inside flame/ only. */
#pragma once

#include "base/str.h"
#include "show/view.h"

enum {
        TIMELINE_COLUMNS = 200,
        TIMELINE_HEIGHT = 96, /* pixels, all of it; its curve: */
        TIMELINE_CURVE = 54,
};

struct timeline_curve {
        uint64_t end_ns, from_ns, to_ns; /* of the recording, and the window that is asked about */
        uint64_t peak_ns, peak_bytes;    /* of memory: as the report says it */
        uint64_t highest;                /* of the curve */
        uint64_t heights
                [TIMELINE_COLUMNS]; /* live bytes, highest in each; of time thousandths of a thread */
};

struct timeline {
        const struct query *q;           /* of the newer: its clock tells the times */
        struct timeline_curve curves[2]; /* the newer trace first */
        size_t n;                        /* 0: there is nothing to see */
        enum query_time time;            /* whose curves they are; else of live memory */
};

/* Adds the curve of a view's process, or of all together; filters do not count. */
void timeline_ask(struct timeline *t, const struct view *v, size_t side);

/* Draws it as SVG from y on, or nothing; returns where it ends. */
double timeline_draw(struct str *to, const struct timeline *t, double width, double pad, double y);
