/* SPDX-License-Identifier: MIT */
#include "finding/series.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"

/* A warm-up is at most this part of all: behind it there must be enough to see. */
#define WARM_UP_MAX_SHARE 0.6
/* Two lines must leave less than this part of what one line leaves unexplained. */
#define WARM_UP_GAIN 0.5
/* One line that explains so much needs no second. */
#define WARM_UP_FIT 0.999
/* The last third rises at least this much of what the first does, else it comes to rest. */
#define RESTING 0.5
/* Behind a warm-up that took long a curve that comes to rest looks straighter. */
#define RESTING_LATE 0.65
#define LATE_SHARE 0.2
/* Each third has at least this part of the rise: an even one has a third. */
#define THIRD_MIN 0.08
/* A rise of less than this part of the ups and downs is none. */
#define RISE_MIN 1.5
/* What was as high before, for this part of the time, and fell again, does so once more. */
#define RETURNING 0.25
/* The last points have little future to fall in: this part of them is not counted. */
#define TAIL_SHARE 0.1
/* Where y itself is clean, they still tell whether it rises to the end: by this part of the line's rise at least. */
#define TAIL_RISE 0.3
#define TAIL_CLEAN 0.02
/* Borders of thirds are medians of as many points, this part of all. */
#define BORDER_SHARE 0.06
#define FIT_MIN 0.5

const char *series_shape_name(enum series_shape shape) {
        switch (shape) {
        case SERIES_UNKNOWN: return "unknown";
        case SERIES_LEVEL: return "level";
        case SERIES_RISING: return "rising";
        case SERIES_SATURATING: return "saturating";
        case SERIES_STEPS: return "steps";
        case SERIES_FALLING: return "falling";
        }
        return "unknown";
}

/* ---- order ----------------------------------------------------------------------------------- */

static double *values_new(size_t n) {
        double *v = malloc((n + 1) * sizeof(v[0]));

        if (!v)
                abort();
        return v;
}

/* The k-th smallest, k from 0; v is left in disorder. */
static double select_kth(double *v, size_t n, size_t k) {
        size_t low = 0, high = n - 1;

        while (low < high) {
                double pivot = v[low + (high - low) / 2];
                size_t i = low, j = high;

                for (;;) {
                        while (v[i] < pivot)
                                i++;
                        while (v[j] > pivot)
                                j--;
                        if (i >= j)
                                break;
                        double swapped = v[i];

                        v[i++] = v[j];
                        v[j--] = swapped;
                }
                if (k <= j)
                        high = j;
                else
                        low = j + 1;
        }
        return v[k];
}

/* Of values that may be put in any order. */
static double median_of(double *v, size_t n) {
        double upper;

        if (n == 0)
                return 0;
        upper = select_kth(v, n, n / 2);
        if (n % 2)
                return upper;
        return (select_kth(v, n / 2, n / 2 - 1) + upper) / 2;
}

double series_median(const double *v, size_t n) {
        double *copy = values_new(n), median;

        if (n)
                memcpy(copy, v, n * sizeof(v[0]));
        median = median_of(copy, n);
        free(copy);
        return median;
}

/* ---- slope ----------------------------------------------------------------------------------- */

double series_slope(const struct series *s) {
        size_t step = s->n / SERIES_MAX_PAIRED + 1, n = 0;
        size_t most = (s->n + step - 1) / step;
        double *slopes = values_new(most * (most + 1) / 2), slope;

        for (size_t i = 0; i < s->n; i += step)
                for (size_t j = i + step; j < s->n; j += step)
                        if (s->x[j] > s->x[i])
                                slopes[n++] = (s->y[j] - s->y[i]) / (s->x[j] - s->x[i]);
        slope = median_of(slopes, n);
        free(slopes);
        return slope;
}

void series_floor(const double *y, size_t n, double *ret) {
        double least = INFINITY;

        for (size_t i = n; i-- > 0;) {
                least = MIN(least, y[i]);
                ret[i] = least;
        }
}

/* ---- warm-up --------------------------------------------------------------------------------- */

/* Sums up to a point, so that the line through any stretch costs nothing. */
struct sums {
        double n, x, y, xx, xy, yy;
};

static double unexplained(const struct sums *from, const struct sums *to) {
        double n = to->n - from->n, x = to->x - from->x, y = to->y - from->y;
        double xx = to->xx - from->xx, xy = to->xy - from->xy, yy = to->yy - from->yy;
        double var_x, cov, var_y;

        if (n < 2)
                return 0;
        var_x = xx - x * x / n;
        var_y = yy - y * y / n;
        cov = xy - x * y / n;
        return MAX(var_x > 0 ? var_y - cov * cov / var_x : var_y, 0);
}

static struct sums *sums_new(const struct series *s) {
        struct sums *sums = calloc(s->n + 1, sizeof(*sums));
        double x0 = s->x[0], y0 = s->y[0];

        if (!sums)
                abort();
        for (size_t i = 0; i < s->n; i++) { /* from the first point: large numbers lose digits */
                double x = s->x[i] - x0, y = s->y[i] - y0;

                sums[i + 1] =
                        (struct sums){sums[i].n + 1,      sums[i].x + x,      sums[i].y + y,
                                      sums[i].xx + x * x, sums[i].xy + x * y, sums[i].yy + y * y};
        }
        return sums;
}

size_t series_warm_up(const struct series *s, size_t max_idx) {
        size_t best_idx = 0;
        struct sums *sums;
        double one, all, best;

        if (s->n < SERIES_MIN_POINTS)
                return 0;
        sums = sums_new(s);
        one = unexplained(&sums[0], &sums[s->n]);
        all = sums[s->n].yy - sums[s->n].y * sums[s->n].y / sums[s->n].n;
        best = one * WARM_UP_GAIN;
        if (one > all * (1 - WARM_UP_FIT))
                for (size_t i = 1; i <= MIN(max_idx, s->n - SERIES_MIN_POINTS); i++) {
                        double two = unexplained(&sums[0], &sums[i]) +
                                     unexplained(&sums[i], &sums[s->n]);

                        if (two < best) {
                                best = two;
                                best_idx = i;
                        }
                }
        free(sums);
        return best_idx;
}

/* ---- trend ----------------------------------------------------------------------------------- */

/* y around a moment: the median of a few points, so that a jump in the first or last one is no rise. */
static double y_around(const struct series *s, double x) {
        size_t half = (size_t)((double)s->n * BORDER_SHARE / 2), i = 0, begin, end;

        while (i + 1 < s->n && s->x[i + 1] <= x)
                i++;
        begin = i > half ? i - half : 0;
        end = MIN(begin + 2 * half + 1, s->n);
        begin = end - MIN(end, 2 * half + 1);
        return series_median(s->y + begin, end - begin);
}

static void split_rise(const struct series *s, struct series_trend *t) {
        double begin = s->x[0], span = s->x[s->n - 1] - begin, borders[4];

        for (size_t i = 0; i < 4; i++)
                borders[i] = y_around(s, begin + span * (double)i / 3);
        t->rise = borders[3] - borders[0];
        for (size_t i = 0; i < 3; i++)
                t->third[i] = t->rise > 0 ? (borders[i + 1] - borders[i]) / t->rise : 0;
}

static void fit_line(const struct series *s, struct series_trend *t) {
        double *v = values_new(s->n), median = series_median(s->y, s->n), off = 0, all = 0;

        t->slope = series_slope(s);
        for (size_t i = 0; i < s->n; i++)
                v[i] = s->y[i] - t->slope * (s->x[i] - s->x[0]);
        t->level = median_of(v, s->n);
        for (size_t i = 0; i < s->n; i++) {
                off += fabs(s->y[i] - t->level - t->slope * (s->x[i] - s->x[0]));
                all += fabs(s->y[i] - median);
        }
        t->fit = all > 0 ? 1 - off / all : 1;
        free(v);
}

/* How far y is above its floor for a quarter of the time: what comes and goes. */
static double ups_and_downs(const double *y, const double *floor, size_t n) {
        double *v = values_new(n), high;

        for (size_t i = 0; i < n; i++)
                v[i] = y[i] - floor[i];
        high = select_kth(v, n, n * 3 / 4);
        free(v);
        return high;
}

/* Whether y was where it has risen to before the line began, and for long: filled, emptied, and filling again. */
static bool has_returned(const struct series *s, const struct series_trend *t, double floor) {
        size_t n_high = 0;

        for (size_t i = 0; i < t->begin_idx; i++)
                n_high += s->y[i] > floor + t->rise / 2;
        return (double)n_high > (double)t->begin_idx * RETURNING && n_high > 2;
}

/* A third with few steps may have less than its share by chance: twice the spread of such a count is allowed. */
static double chance(double share, const struct series_trend *t, double quantum) {
        double n_steps = quantum > 0 ? t->rise / quantum : INFINITY;

        return n_steps > 0 ? 2 * sqrt(share / n_steps) : 1;
}

static enum series_shape shape_of(const struct series *s, const struct series_trend *t,
                                  double noise) {
        bool is_late = (double)t->begin_idx > (double)(t->begin_idx + s->n) * LATE_SHARE;
        double first = t->third[0], last = t->third[2];

        if (t->slope < 0 && t->rise <= 0)
                return SERIES_FALLING;
        if (t->rise <= 0 || t->rise < noise * RISE_MIN || t->rise < s->quantum)
                return SERIES_LEVEL;
        if (last + chance(last, t, s->quantum) < first * (is_late ? RESTING_LATE : RESTING))
                return SERIES_SATURATING;
        for (size_t i = 0; i < 3; i++)
                if (t->third[i] < THIRD_MIN)
                        return SERIES_STEPS;
        return t->slope > 0 && t->fit >= FIT_MIN ? SERIES_RISING : SERIES_STEPS;
}

/* Whether y stands still where the floor says nothing any more. */
static bool has_stopped(const struct series *s, const struct series_trend *t, double noise) {
        size_t tail = (size_t)((double)s->n * TAIL_SHARE), few = tail / 2, from;
        double before, after, even;

        if (few == 0 || noise > t->rise * TAIL_CLEAN)
                return false;
        from = s->n - tail - few;
        before = s->y[from];
        for (size_t i = 1; i < few; i++)
                before = MIN(before, s->y[from + i]);
        after = series_median(s->y + s->n - few, few);
        even = t->slope * (s->x[s->n - 1 - few / 2] - s->x[from + few / 2]);
        return after - before + 2 * sqrt(even * s->quantum) < even * TAIL_RISE;
}

void series_trend(const struct series *s, struct series_trend *ret) {
        size_t n = s->n - (size_t)((double)s->n * TAIL_SHARE);
        double *floor = values_new(s->n), noise;
        struct series behind, all = {s->x, floor, n, s->quantum};

        *ret = (struct series_trend){0};
        if (s->n >= SERIES_MIN_POINTS) {
                series_floor(s->y, s->n, floor);
                ret->begin_idx = series_warm_up(&all, (size_t)((double)n * WARM_UP_MAX_SHARE));
                ret->warm_up_rise = floor[ret->begin_idx] - floor[0];
                behind = (struct series){s->x + ret->begin_idx, floor + ret->begin_idx,
                                         n - ret->begin_idx, s->quantum};
                split_rise(&behind, ret);
                fit_line(&behind, ret);
                noise = ups_and_downs(s->y + ret->begin_idx, behind.y, behind.n);
                ret->shape = shape_of(&behind, ret, noise);
                if (ret->shape == SERIES_RISING && has_returned(s, ret, behind.y[0]))
                        ret->shape = SERIES_LEVEL;
                if (ret->shape == SERIES_RISING && has_stopped(s, ret, noise))
                        ret->shape = SERIES_SATURATING;
        }
        free(floor);
}

/* ---- spikes ---------------------------------------------------------------------------------- */

bool series_spike(const struct series *s, struct series_spike *ret) {
        double half;

        *ret = (struct series_spike){0};
        if (s->n < SERIES_MIN_POINTS)
                return false;
        ret->level = series_median(s->y, s->n);
        for (size_t i = 1; i < s->n; i++)
                if (s->y[i] > s->y[ret->top_idx])
                        ret->top_idx = i;
        ret->height = s->y[ret->top_idx] - ret->level;
        if (!(ret->height > 0))
                return false;
        half = ret->level + ret->height / 2;
        ret->begin_idx = ret->end_idx = ret->top_idx;
        while (ret->begin_idx > 0 && s->y[ret->begin_idx - 1] > half)
                ret->begin_idx--;
        while (ret->end_idx < s->n && s->y[ret->end_idx] > half)
                ret->end_idx++;
        for (size_t i = 0; i < s->n; i++)
                ret->share += (s->y[i] > half) / (double)s->n;
        return true;
}
