/* SPDX-License-Identifier: MIT */
/* Whether something rises in whatever rhythm: traffic comes in bursts, by day, late, or stands still for a while, and no straight line
 * over time explains it. What is lost with every request is a straight line over requests. So the course is looked at
 * by clocks of the program's own: allocations that others make, those of the caller, its own where many are released. What
 * fills up comes to rest by each of them. Time only says that it has not ended long ago. */
#include "finding/rules.h"

enum {
        RHYTHM_MIN_BLOCKS = 8,   /* that stayed: fewer are single events */
        RHYTHM_SURE_BLOCKS = 24, /* by time alone: fewer come late, and many at once, by chance */
        RHYTHM_BEHIND_BLOCKS =
                48, /* behind a warm-up: few of them come evenly by chance, while it comes to rest */
        RHYTHM_MIN_RUNS =
                6, /* stretches in which it rises, with pauses between: a program is set up in a few */
        RHYTHM_MIN_PAUSES =
                8, /* columns in which the program waits: what is being built does not stop so often */
        RHYTHM_SLOW_BLOCKS = 24,
        RHYTHM_SLOW_COLUMNS = 5,
};
/* Or, in fewer stretches: it rises in so many of the columns. */
#define RHYTHM_MIN_FILLED 0.19
/* This part of the rise comes last; it must be in … */
#define RHYTHM_TAIL 0.05
/* … the part of the time behind this: what ends earlier was built, and is worked with since. */
#define RHYTHM_GOES_ON 0.6
/* All but the first and last part of it take at least so much of the time. */
#define RHYTHM_MIN_SPAN 0.3
/* A clock is one when so many allocations are made for each block that stays. */
#define RHYTHM_CLOCK 0.2
/* Its own allocations are one when so many of them are released. */
#define RHYTHM_FREED 0.2
/* By time alone: at most this part of them is. */
#define RHYTHM_MOSTLY_KEPT 0.3
/* What comes late comes as fast as this part of the fastest: what fills up does not. */
#define RHYTHM_LATE_PACE 0.25
/* Where others do so many times as much, no more than this part of their work is behind it: else it is done, and they are not. */
#define RHYTHM_SURE_CLOCK 2.0
#define RHYTHM_WORK_BEHIND 0.25
/* Or, by a clock that others see: what came fast goes on slowly. Then in the last third of the time so many blocks come, in so many
 * columns, and by the clock so much of what came before. */
#define RHYTHM_SLOW_FROM 0.67
#define RHYTHM_SLOW_END 0.9 /* behind which what is there has little time left to go */
#define RHYTHM_SLOW_PACE 0.5
/* A warm-up is faster than the rest by this factor at least. */
#define RHYTHM_WARM_UP 2.0
/* A pause: a column with so much of the work that an even one has. */
#define RHYTHM_PAUSE 0.1
/* In a short run others release so much of what they allocate; else something is being built. */
#define RHYTHM_TIDY 0.75
#define RHYTHM_LONG_S 10.0

/* What is looked at, in columns of time or of work. */
struct look {
        const struct course *c, *total;
        const double *at_s;
        double *y, *floor, *x; /* blocks, or bytes where these do not become more; the clock */
        double quantum;
        size_t last;
};

struct rhythm {
        struct facts *f;
        struct growth *g;
        struct look time, work;
};

static double gain(const int64_t *values, size_t begin, size_t last) {
        return course_gain(values, begin, last);
}

/* ---- over time ------------------------------------------------------------------------------- */

/* The life it is judged by. */
static double life_s(const struct rhythm *r) {
        return r->f->at_s[r->g->is_released ? r->time.last : r->f->n_columns - 1];
}

struct spread {
        size_t n_filled, n_runs;
        size_t begin, end;      /* columns in which the first and the last part of it are there */
        double most, most_late; /* in a column */
};

static size_t reached(const struct look *l, size_t begin, double share) {
        double level = l->floor[begin] + share * (l->floor[l->last] - l->floor[begin]);
        size_t i = begin;

        while (i < l->last && l->floor[i] < level)
                i++;
        return i;
}

static struct spread spread_of(const struct rhythm *r, size_t begin) {
        const struct look *l = &r->time;
        struct spread s = {.begin = reached(l, begin, RHYTHM_TAIL),
                           .end = reached(l, begin, 1 - RHYTHM_TAIL)};
        bool was_rising = false;

        for (size_t i = MAX(s.begin, 1u); i <= s.end; i++) {
                double rise = l->floor[i] - l->floor[i - 1];

                s.n_filled += rise > 0;
                s.n_runs += rise > 0 && !was_rising;
                was_rising = rise > 0;
                s.most = MAX(s.most, rise);
                if (l->at_s[i] > RHYTHM_GOES_ON * life_s(r))
                        s.most_late = MAX(s.most_late, rise);
        }
        return s;
}

/* Not at a few moments: for long, or again and again. */
static bool is_repeated(const struct rhythm *r, const struct spread *s) {
        return s->n_runs >= RHYTHM_MIN_RUNS ||
               (double)s->n_filled >= RHYTHM_MIN_FILLED * (double)r->f->n_columns;
}

/* It goes on till late, and for a good part of the time. */
static bool is_spread(const struct rhythm *r, const struct spread *s) {
        const double *at_s = r->time.at_s;

        return at_s[s->end] >= RHYTHM_GOES_ON * life_s(r) &&
               at_s[s->end] - at_s[s->begin] >= RHYTHM_MIN_SPAN * life_s(r) && is_repeated(r, s);
}

/* ---- what goes on beside --------------------------------------------------------------------- */

static double others_between(const struct look *l, size_t begin, size_t last) {
        return gain(l->total->n_allocs, begin, last) - gain(l->c->n_allocs, begin, last);
}

/* Columns in which the program does next to nothing. */
static size_t count_pauses(const struct look *l) {
        double even = gain(l->total->n_allocs, 0, l->last) / (double)MAX(l->last, 1u);
        size_t n = 0;

        for (size_t i = 1; i <= l->last; i++)
                n += gain(l->total->n_allocs, i - 1, i) <= RHYTHM_PAUSE * even;
        return n;
}

/* A short run that builds something rises too, by any clock. One that releases what else it allocates, or that waits for something
 * again and again, does not build. */
static bool is_no_build(const struct rhythm *r, size_t begin, const struct spread *s) {
        const struct look *l = &r->time;
        double n_allocs = others_between(l, begin, l->last);
        double n_frees =
                gain(l->total->n_frees, begin, l->last) - gain(l->c->n_frees, begin, l->last);

        if (l->at_s[l->last] - l->at_s[begin] >= RHYTHM_LONG_S)
                return true;
        return (n_allocs >= RHYTHM_CLOCK * gain(l->c->blocks, begin, l->last) &&
                n_frees >= RHYTHM_TIDY * n_allocs) ||
               (s->n_runs >= RHYTHM_MIN_RUNS && count_pauses(l) >= RHYTHM_MIN_PAUSES);
}

/* Whether others go on when it has ended. */
static bool is_done(const struct rhythm *r, size_t begin, const struct spread *s) {
        const struct look *l = &r->time;
        double n_kept = l->quantum > 0 ? l->floor[l->last] - l->floor[begin]
                                       : gain(l->c->n_allocs, begin, l->last);
        double work = others_between(l, begin, l->last);

        return work >= RHYTHM_SURE_CLOCK * n_kept &&
               others_between(l, s->end, l->last) > RHYTHM_WORK_BEHIND * work;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Allocations, over time: all of one course but those of another, where there is another. */
struct clock {
        const struct course *of, *but;
};

static double passed(const struct clock *k, size_t begin, size_t last) {
        return gain(k->of->n_allocs, begin, last) -
               (k->but ? gain(k->but->n_allocs, begin, last) : 0);
}

static size_t column_at(const struct look *l, double s) {
        size_t i = 0;

        while (i < l->last && l->at_s[i] < s)
                i++;
        return i;
}

/* Most came early, and what comes late is little; but by the clock it is as much as ever. */
static bool goes_on_slowly(const struct rhythm *r, const struct clock *k, size_t begin) {
        const struct look *l = &r->time;
        size_t late = column_at(l, RHYTHM_SLOW_FROM * life_s(r)), n_all = 0, n_late = 0;
        size_t end = column_at(l, RHYTHM_SLOW_END * life_s(r));
        double gained = l->floor[end] - l->floor[late], all = l->floor[end] - l->floor[begin];

        for (size_t i = begin + 1; i <= end; i++) {
                n_all += l->floor[i] > l->floor[i - 1];
                n_late += l->floor[i] > l->floor[i - 1] && i > late;
        }
        return l->quantum > 0 && gained >= RHYTHM_SLOW_BLOCKS && n_late >= RHYTHM_SLOW_COLUMNS &&
               (double)n_all >= RHYTHM_MIN_FILLED * (double)r->f->n_columns &&
               gained * passed(k, begin, end) >= RHYTHM_SLOW_PACE * all * passed(k, late, end);
}

/* k: NULL: it is time. */
static bool take(struct rhythm *r, const struct series_trend *t, size_t begin,
                 const struct clock *k) {
        struct spread s = spread_of(r, begin);

        if (!is_spread(r, &s) && !(k && goes_on_slowly(r, k, begin)))
                return false;
        if (!is_no_build(r, begin, &s))
                return false;
        r->g->trend = *t;
        r->g->trend.begin_idx = begin;
        return true;
}

/* A warm-up is faster than the rest: else the line was cut by chance, and is one. */
static bool is_warm_up(const struct look *l, const struct series_trend *t) {
        double even = t->slope * (l->x[t->begin_idx] - l->x[0]);

        return t->warm_up_rise > even * RHYTHM_WARM_UP;
}

static bool rises(struct rhythm *r, const struct look *l, const struct clock *k) {
        struct series s = {.x = l->x, .y = l->y, .n = l->last + 1, .quantum = l->quantum};
        struct series_trend t;
        size_t begin = 0;

        series_trend(&s, &t);
        if (t.shape != SERIES_RISING ||
            (is_warm_up(l, &t) && l->quantum > 0 && t.rise < RHYTHM_BEHIND_BLOCKS))
                return false;
        while (begin < r->time.last && r->time.at_s[begin] < l->at_s[t.begin_idx])
                begin++;
        return take(r, &t, is_warm_up(l, &t) ? begin : 0, k);
}

static bool rises_over_time(struct rhythm *r) {
        struct look *l = &r->time;
        struct spread s = spread_of(r, 0);

        for (size_t i = 0; i <= l->last; i++)
                l->x[i] = l->at_s[i];
        return !is_done(r, 0, &s) && rises(r, l, NULL);
}

static bool rises_by_others(struct rhythm *r) {
        const struct clock k = {r->time.total, r->time.c};
        struct look *l = &r->work;

        for (size_t i = 0; i <= l->last; i++)
                l->x[i] = (double)l->total->n_allocs[i] - (double)l->c->n_allocs[i];
        return others_between(l, 0, l->last) >= RHYTHM_CLOCK * gain(l->c->blocks, 0, l->last) &&
               rises(r, l, &k);
}

/* over_time: the same course in columns of time. */
static bool rises_by_work_of(struct rhythm *r, const struct course *c,
                             const struct course *over_time) {
        const struct clock k = {over_time, NULL};
        struct look *l = &r->work;

        for (size_t i = 0; i <= l->last; i++)
                l->x[i] = (double)c->n_allocs[i];
        return rises(r, l, &k);
}

static bool rises_by_own(struct rhythm *r) {
        const struct course *c = r->work.c;
        size_t last = r->work.last;

        return gain(c->n_frees, 0, last) >= RHYTHM_FREED * gain(c->n_allocs, 0, last) &&
               rises_by_work_of(r, c, r->time.c);
}

static bool rises_by_caller(struct rhythm *r, const struct course *caller) {
        return caller && rises_by_work_of(r, r->f->by_work ? caller->by_work : caller, caller);
}

/* Nothing but what stays is to be seen, or too much else. It comes again and again, and late as fast as ever. */
static bool comes_again(struct rhythm *r) {
        const struct look *l = &r->time;
        const struct series_trend t = {.shape = SERIES_RISING};
        size_t begin = 0;
        struct spread s;

        while (begin < l->last && l->at_s[begin] < RHYTHM_TAIL * life_s(r))
                begin++;
        s = spread_of(r, begin);
        return l->quantum > 0 && l->floor[l->last] - l->floor[begin] >= RHYTHM_SURE_BLOCKS &&
               gain(l->c->n_frees, begin, l->last) <=
                       RHYTHM_MOSTLY_KEPT * gain(l->c->n_allocs, begin, l->last) &&
               s.most_late >= RHYTHM_LATE_PACE * s.most && !is_done(r, begin, &s) &&
               take(r, &t, begin, NULL);
}

/* ---- asked ----------------------------------------------------------------------------------- */

/* Up to a moment. Blocks; or bytes, where blocks do not become more. */
static void look_at(struct look *l, struct facts *f, const struct course *c, double until_s) {
        size_t n;

        *l = (struct look){.c = c, .total = &f->total, .at_s = f->at_s, .quantum = 1};
        while (l->last + 1 < f->n_columns && f->at_s[l->last + 1] <= until_s)
                l->last++;
        n = l->last + 1;
        l->floor = arena_alloc(f->arena, (n + 1) * sizeof(double));
        l->x = arena_alloc(f->arena, (n + 1) * sizeof(double));
        l->y = course_values(f->arena, c->blocks, n);
        series_floor(l->y, n, l->floor);
        if (l->floor[l->last] - l->floor[0] < RHYTHM_MIN_BLOCKS) {
                l->y = course_values(f->arena, c->bytes, n);
                series_floor(l->y, n, l->floor);
                l->quantum = 0;
        }
}

bool growth_is_repeated(struct facts *f, const struct course *c, struct growth *g) {
        struct rhythm r = {.f = f, .g = g};
        struct spread s;

        look_at(&r.time, f, c, f->at_s[g->end_idx - 1]);
        s = spread_of(&r, g->trend.begin_idx);
        return is_repeated(&r, &s) && !(f->by_work && is_done(&r, g->trend.begin_idx, &s));
}

bool growth_has_rhythm(struct facts *f, const struct course *c, const struct course *caller,
                       struct growth *g) {
        struct rhythm r = {.f = f, .g = g};
        double end_s = f->at_s[g->end_idx - 1];

        if (g->end_idx < SERIES_MIN_POINTS)
                return false;
        look_at(&r.time, f, c, end_s);
        r.work = r.time;
        if (c->by_work)
                look_at(&r.work, f->by_work, c->by_work, end_s);
        return rises_over_time(&r) || rises_by_others(&r) || rises_by_caller(&r, caller) ||
               rises_by_own(&r) || comes_again(&r);
}
