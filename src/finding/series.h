/* SPDX-License-Identifier: MIT */
/* What a figure does over time: rises, keeps a level, has a spike. Plain arrays in, and a few wild values change nothing:
 * slopes are medians of slopes (Theil-Sen), levels are medians, and what falls back to where it was has not risen.
 *
 *   struct series s = {.x = at_s, .y = live_bytes, .n = n};
 *   struct series_trend t;
 *
 *   series_trend(&s, &t);
 *   if (t.shape == SERIES_RISING)
 *           printf("%.0f bytes per second since %.1f s\n", t.slope, s.x[t.begin_idx]);
 *
 * Time and memory: n² of at most SERIES_MAX_PAIRED points; longer ones are thinned first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
        SERIES_MIN_POINTS = 8, /* fewer say nothing */
        SERIES_MAX_PAIRED = 400,
};

struct series {
        const double *x; /* rising or equal, as time is */
        const double *y;
        size_t n;
        double quantum; /* the step in which y changes, such as one block's size: chance is judged by it; 0: none */
};

enum series_shape {
        SERIES_UNKNOWN, /* too few points */
        SERIES_LEVEL,   /* what is there at the end was there when it began */
        SERIES_RISING, /* in each third of the time, and in the last about as fast as in the first */
        SERIES_SATURATING, /* rose and comes to rest */
        SERIES_STEPS,      /* rose at a few moments, not all along */
        SERIES_FALLING,
};
const char *series_shape_name(enum series_shape shape);

/* The line through what y never goes below again, behind the warm-up. */
struct series_trend {
        enum series_shape shape;
        size_t begin_idx;    /* where the warm-up ends: the line is that of [begin_idx, n) */
        double slope;        /* of y by x */
        double level;        /* of the line at begin_idx */
        double rise;         /* of the floor from begin_idx on, without a jump at the very end */
        double fit;          /* share of the ups and downs that the line explains, at most 1 */
        double third[3];     /* how much of the rise each third of the time has */
        double warm_up_rise; /* of the floor, before begin_idx */
};
void series_trend(const struct series *s, struct series_trend *ret);

/* A stretch far above the level that all the rest keeps. */
struct series_spike {
        double level, height;      /* median of all; highest minus that */
        size_t begin_idx, end_idx; /* [begin, end): more than half of the height above the level */
        size_t top_idx;
        double share; /* of the time, from 0 to 1 */
};
/* False: fewer than SERIES_MIN_POINTS points, or nothing above the level. */
bool series_spike(const struct series *s, struct series_spike *ret);

/* ---- parts ----------------------------------------------------------------------------------- */

double series_median(const double *v, size_t n); /* 0 where there is none */
double series_slope(const struct series *s);     /* median of the slopes of all pairs of points */

/* What y never goes below again: ret[i] is the least of y[i], y[i + 1], … */
void series_floor(const double *y, size_t n, double *ret);

/* The point from which on one line describes the rest best while another describes what was before; 0: one line does
 * for all. At most max_idx. */
size_t series_warm_up(const struct series *s, size_t max_idx);
