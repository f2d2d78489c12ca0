/* SPDX-License-Identifier: MIT */
/* Whether something rises, judged by what it holds over time. */
#include <math.h>

#include "finding/rules.h"

/* What is high until late and then let go at once was torn down: judged is the time before. */
#define TEAR_DOWN_FROM 0.75
#define TEAR_DOWN_LEFT 0.5
#define TEAR_DOWN_HIGH 0.8
#define TEAR_DOWN_BEGUN 0.97
#define TEAR_DOWN_WORK 0.1 /* of its allocations: while it is let go, few are made */

/* How well another's loss must fit to be the source of a gain: within this part of the blocks gained. */
#define MIRROR 0.2
#define MIRROR_SURE 0.02 /* so well by chance nothing fits */

enum { GROWTH_MIN_RISES = 8 }; /* columns: fewer are steps */

/* Letting go may take a while, or be held up: it begins at the highest of the last points. */
static size_t begin_of_end(const struct course *c, size_t n, size_t end) {
        size_t top = end - 1;

        for (size_t i = (size_t)((double)n * TEAR_DOWN_FROM); i < end; i++)
                top = c->bytes[i] > c->bytes[top] ? i : top;
        return (double)c->bytes[end - 1] < (double)c->bytes[top] * TEAR_DOWN_BEGUN ? top + 1 : end;
}

/* Whether it is still being allocated behind the highest point: then that is one of many, of a level. */
static bool goes_on(const struct course *c, size_t n, size_t end) {
        return course_gain(c->n_allocs, end - 1, n - 1) >
               TEAR_DOWN_WORK * (double)c->n_allocs[n - 1];
}

static size_t end_of_work(const struct course *c, size_t n, bool *ret_is_released) {
        int64_t top = 0;
        size_t end = n, begin;

        for (size_t i = 0; i < n; i++)
                top = MAX(top, c->bytes[i]);
        while (end > 1 && (double)c->bytes[end - 1] < (double)top * TEAR_DOWN_HIGH)
                end--;
        *ret_is_released = (double)end >= (double)n * TEAR_DOWN_FROM &&
                           (double)c->bytes[n - 1] <= (double)top * TEAR_DOWN_LEFT;
        if (!*ret_is_released)
                return n;
        begin = begin_of_end(c, n, end);
        return goes_on(c, n, begin) ? end : begin;
}

static size_t count_rises(struct facts *f, const double *y, const struct growth *g) {
        double *floor = arena_alloc(f->arena, (g->end_idx + 1) * sizeof(floor[0]));
        size_t n = 0;

        series_floor(y, g->end_idx, floor);
        for (size_t i = g->trend.begin_idx + 1; i < g->end_idx; i++)
                n += floor[i] > floor[i - 1];
        return n;
}

/* The rise; where work is uneven, with what rose before the line by the same work. */
static double weight_of(struct facts *f, const struct course *c, const struct course *caller,
                        const struct growth *g) {
        struct growth by_work = *g;

        if (!g->is_rising || g->is_uneven || !f->by_work ||
            !growth_has_rhythm(f, c, caller, &by_work))
                return g->rise_bytes;
        return MAX(g->rise_bytes, course_gain(c->bytes, by_work.trend.begin_idx, g->end_idx - 1));
}

void growth_of(struct facts *f, const struct course *c, const struct course *caller,
               struct growth *ret) {
        size_t n = f->n_columns, begin, last;
        struct growth *g = ret;
        struct series s;
        double *y;

        *g = (struct growth){0};
        g->end_idx = end_of_work(c, n, &g->is_released);
        last = g->end_idx - 1;
        y = course_values(f->arena, c->bytes, g->end_idx);
        s = (struct series){.x = f->at_s, .y = y, .n = g->end_idx};
        if (c->blocks[last] > 0)
                s.quantum = (double)c->bytes[last] / (double)c->blocks[last];
        if (s.quantum > (double)c->bytes[last] / 4)
                s.quantum = 0; /* few large blocks, such as a buffer that is made larger: no unit */
        series_trend(&s, &g->trend);
        g->is_rising = g->trend.shape == SERIES_RISING &&
                       count_rises(f, y, g) >= GROWTH_MIN_RISES && growth_is_repeated(f, c, g);
        if (!g->is_rising)
                g->is_rising = g->is_uneven = growth_has_rhythm(f, c, caller, g);
        begin = g->trend.begin_idx;
        g->begin_s = f->at_s[begin];
        g->end_s = f->at_s[last];
        g->now_bytes = (double)c->bytes[last];
        g->now_blocks = (double)c->blocks[last];
        g->rise_bytes = (double)c->bytes[last] - (double)c->bytes[begin];
        g->rise_blocks = (double)c->blocks[last] - (double)c->blocks[begin];
        g->weight_bytes = weight_of(f, c, caller, g);
        if (g->is_uneven)
                g->trend.slope = g->rise_bytes / MAX(g->end_s - g->begin_s, 1e-9);
        g->n_allocs = (double)c->n_allocs[last] - (double)c->n_allocs[begin];
        g->n_frees = (double)c->n_frees[last] - (double)c->n_frees[begin];
        for (size_t i = 1; i < g->end_idx; i++)
                if (c->n_frees[i] > c->n_frees[i - 1])
                        g->freed_last_s = f->at_s[i];
}

double growth_gain(const struct growth *g, const struct course *c) {
        return (double)c->bytes[g->end_idx - 1] - (double)c->bytes[g->trend.begin_idx];
}

/* How far, at most, the blocks that one course loses are from those another gains, all of the time, as a part of what is gained. */
static double mirror_error(const struct course *gains, const struct course *loses, size_t begin,
                           size_t last) {
        size_t top = begin;
        double gained, most = 0;

        for (size_t i = begin; i < begin + (last - begin) / 3; i++) /* it may be filled first */
                top = loses->blocks[i] > loses->blocks[top] ? i : top;
        begin = top;
        gained = course_gain(gains->blocks, begin, last);
        if (gained <= 0)
                return INFINITY;
        for (size_t i = last; i > begin && most <= MIRROR * gained; i--)
                most = MAX(most, fabs(course_gain(gains->blocks, begin, i) +
                                      course_gain(loses->blocks, begin, i)));
        return most / gained;
}

/* Whether one may be a part of the other: it never has more blocks, nor allocates or releases more. */
static bool are_nested(const struct course *a, const struct course *b, size_t last) {
        bool has_more = false, has_less = false;

        for (size_t i = 0; i <= last; i++) {
                has_more |= a->blocks[i] > b->blocks[i] || a->n_allocs[i] > b->n_allocs[i] ||
                            a->n_frees[i] > b->n_frees[i];
                has_less |= a->blocks[i] < b->blocks[i] || a->n_allocs[i] < b->n_allocs[i] ||
                            a->n_frees[i] < b->n_frees[i];
        }
        return !has_more || !has_less;
}

/* Whether another function fits much better what is lost: then it has it already. At the end it may release it. */
static bool is_had_by_another(const struct askers *askers, const struct course *c,
                              const struct course *loses, size_t begin, size_t last, double error) {
        size_t end = last - (last - begin) / 10;

        for (size_t i = 0; i < askers->n && error > MIRROR_SURE; i++)
                if (mirror_error(&askers->items[i].c, loses, begin, end) < error / 2 &&
                    !are_nested(&askers->items[i].c, c, end))
                        return true;
        return false;
}

static bool is_mirror(const struct askers *askers, const struct course *gains,
                      const struct course *loses, size_t begin, size_t last) {
        double error = mirror_error(gains, loses, begin, last);

        return error <= MIRROR && !is_had_by_another(askers, gains, loses, begin, last, error);
}

bool is_taken_over(struct facts *f, const struct askers *askers, const struct course *c,
                   size_t begin, size_t last) {
        for (size_t row = 0; row < f->n_told; row++) {
                struct course other = facts_course(f, row);

                if (is_mirror(askers, c, &other, begin, last))
                        return true;
        }
        for (size_t i = 0; i < askers->n; i++)
                if (is_mirror(askers, c, &askers->items[i].c, begin, last))
                        return true;
        return false;
}
