/* SPDX-License-Identifier: MIT */
/* leak and left-at-end: what is still allocated at the end, by the function that asked, split into memory of the start-up, caches
 * that keep a level, what is never freed and still grows, and the rest. Of the rest, what has the marks of a leak raises an alarm. */
#include "finding/rules.h"

enum {
        LEFT_MIN_BYTES = 1024, /* less is not worth a sentence */
        LEAK_MIN_BLOCKS = 4,
        LEAK_MIN_PER_PATH = 3, /* blocks, of the call paths that left any */
        LOST_MIN_BLOCKS = 20,  /* fewer are chunks of a pool that has become larger */
        FORGOTTEN_MIN_BLOCKS =
                10,         /* a few are kept for the next time: stacks of threads, buffers */
        LEAK_MIN_RISES = 4, /* columns */
        LEFT_MAX_SUSPECTS =
                64, /* the largest: of which it is looked whether they took over from others */
};
/* Many functions that all lose a little: that is how the program is, and each is told only with so much of it. */
#define LEAK_ONE_OF_MANY 0.1
/* The start: what is there then, and more than comes in as much time later, is memory of the start-up. */
#define EARLY_SHARE 0.1
#define EARLY_FACTOR 3
/* Late: this part came in the second half, of time and of work. */
#define LEFT_LATE_SHARE 0.2
/* A run of a moment, most of which is starting and ending: only work tells what is late. */
#define MOMENT_S 0.25
/* A cache: as much of its level was replaced in the second half. */
#define LEFT_REPLACED 0.25
/* Never freed, and still growing in the last third, however slowly: in so many columns, by so many blocks. */
#define RISING_FROM 0.67
enum { RISING_MIN_COLUMNS = 3, RISING_MIN_BLOCKS = 3 };
/* In these it has so much of what it has at the end. */
#define FILLS_SHARE 0.05
/* Lost among released ones: at least this part of all blocks was released, */
#define LOST_MIN_FREED 0.5
/* it was not the start-up that left them, */
#define LOST_START 0.2
/* as quickly while less than half was left as later on, within this factor, */
#define LOST_SAME_PACE 0.4
/* and it was not left just now. */
#define LOST_OLD 0.9
/* Forgotten: so many times as many were there in most of the second half, and were released. */
#define FORGOTTEN_FACTOR 3.0
/* Outliving: none that was released was older than this share of the time. */
#define OUTLIVE_MAX_LIFE 0.25
#define AGES_MIN_SHARE 0.15 /* of those left, made in each third of the time */
/* Replaced: those that were released lived longer than this part of the age of those left, in the mean. */
#define REPLACED_LIFE 4.0
/* Never released: must stand out, by its part of all that came late, … */
#define LEAK_MIN_PART 0.33
/* Programs that end without cleaning up leave much that is no leak. It is one by its weight, when hardly anything else that was
 * allocated late stayed, or when the program releases nearly all else. */
#define LEAK_MIN_WEIGHT 0.25
#define LEAK_MIN_WEIGHT_LARGE 0.1
#define LEAK_LARGE_BYTES 256e3
#define LEAK_MAX_KEPT 0.01
#define LEAK_TIDY 0.25

/* Nothing released in a run of a moment: it may be what the program builds. */
#define LEAK_BRIEF_S 2.0
/* What takes less time is a burst: something is built. */
#define LEAK_MIN_S 0.1

enum left_class {
        LEFT_START_UP,
        LEFT_STEADY,
        LEFT_RISING,
        LEFT_LATE,
        LEFT_LEAK,
        LEFT_GROWING,
        LEFT_N_CLASSES
};

/* Of an asker's blocks. */
struct ages {
        uint64_t n[3];              /* left, by the third of the time in which they were made */
        uint64_t work[3];           /* likewise by the third of all allocations */
        uint64_t late;              /* left, of the second half of all allocations */
        uint64_t second_half;       /* left, of the second half of the time */
        double longest;             /* life of one that was released, as a share of the time */
        double life_ns, n_released; /* sum over those that were */
        double made_ns, n_left, last_ns; /* sum over those left; of the last one allocated */
};

struct left {
        struct facts *f;
        const struct askers *askers;
        size_t half_idx, old_idx, early_idx;
        enum left_class *class_of; /* asker → */
        double bytes[LEFT_N_CLASSES];
        uint64_t blocks[LEFT_N_CLASSES];
        size_t rising_idx, rising_end_idx; /* columns in which something still grows or not */
        double risen_bytes;                /* in these, by all that does */
        double *floor;                     /* of blocks, of the asker looked at */
        struct ages *ages;                 /* of askers; NULL: not asked for yet */
        uint64_t n_aged;                   /* blocks that were looked at for them */
};

static double end_bytes(const struct asker *a) {
        return (double)MAX(a->figures.end_bytes, 0);
}

static void load_floor(struct left *l, const struct asker *a) {
        for (size_t i = 0; i < l->f->n_columns; i++)
                l->floor[i] = (double)a->c.blocks[i];
        series_floor(l->floor, l->f->n_columns, l->floor);
}

/* What was there early and stayed is no part of a leak; unless that is no more than was lost in the same time later. */
struct lost {
        double bytes, blocks;
};

static struct lost lost_of(const struct left *l, const struct asker *a) {
        struct lost all = {end_bytes(a), (double)a->figures.end_blocks};
        double even = all.bytes * EARLY_SHARE * EARLY_FACTOR;
        size_t least = l->early_idx;

        for (size_t i = least; i < l->f->n_columns; i++)
                least = a->c.bytes[i] < a->c.bytes[least] ? i : least;
        if ((double)a->c.bytes[least] <= even || l->floor[l->half_idx] >= all.blocks)
                return all;
        return (struct lost){all.bytes - (double)a->c.bytes[least],
                             all.blocks - MIN((double)a->c.blocks[least], all.blocks - 1)};
}

static double lost_bytes(const struct left *l, const struct asker *a) {
        return lost_of(l, a).bytes;
}

static bool matters(const struct left *l, const struct asker *a) {
        const struct query_totals *t = l->f->totals;
        const struct course *c = &l->f->total;
        size_t last = l->f->n_columns - 1;
        double n_kept = course_gain(c->blocks, l->half_idx, last);
        double n_allocs = course_gain(c->n_allocs, l->half_idx, last);

        return lost_bytes(l, a) >= LEAK_MIN_WEIGHT * (double)t->peak_bytes ||
               (lost_bytes(l, a) >= LEAK_MIN_WEIGHT_LARGE * (double)t->peak_bytes &&
                lost_bytes(l, a) >= LEAK_LARGE_BYTES) ||
               is_tidy(l->f, end_bytes(a), (double)a->figures.end_blocks) ||
               (n_kept > 0 && n_kept <= LEAK_MAX_KEPT * n_allocs);
}

/* ---- classes --------------------------------------------------------------------------------- */

/* A run of a moment; or nobody knows how long it took, only in which order all was done. */
static bool is_brief(const struct left *l, double s) {
        return l->f->totals->lacks_time || l->f->at_s[l->f->n_columns - 1] < s;
}

/* Per second, in the columns [begin, end]. */
static double free_pace(const struct left *l, const struct asker *a, size_t begin, size_t end) {
        double s = l->f->at_s[end] - l->f->at_s[begin];

        return s > 0 ? course_gain(a->c.n_frees, begin, end) / s : 0;
}

/* Some of what it allocates is not released, while the rest comes and goes as before. A cache is no such thing: what
 * fills it is not released yet, and then all of it is replaced. */
static bool is_lost_among_released(const struct left *l, const struct asker *a) {
        double n_end = (double)a->figures.end_blocks, before, after;
        size_t half = 0, last = l->f->n_columns - 1, n_near = 0;

        if (n_end < LOST_MIN_BLOCKS ||
            (double)a->figures.n_frees < LOST_MIN_FREED * (double)a->figures.n_allocs ||
            l->floor[facts_column_of_time(l->f, LOST_START)] > n_end / 2 ||
            l->floor[l->old_idx] < n_end / 2)
                return false;
        while (half < last && l->floor[half] <= n_end / 2)
                half++;
        for (size_t i = half; i <= last; i++)
                n_near += (double)a->c.blocks[i] <= l->floor[i] + n_end / 2;
        if (n_near < (last - half + 1) / 2) /* a queue that is being emptied, no level */
                return false;
        before = free_pace(l, a, 0, half);
        after = free_pace(l, a, half, last);
        return before > 0 && after > 0 && before >= LOST_SAME_PACE * after &&
               after >= LOST_SAME_PACE * before;
}

static bool add_age(void *ctx, const struct query_block *b) {
        struct left *l = ctx;
        uint32_t row = facts_row_of_stack(l->f, b->stack);
        const struct query_scope *s = &l->f->h->groups->answer->scope;
        double span_ns = (double)(s->to_ns - s->from_ns), made_ns;
        uint64_t n_allocs = MAX(l->f->totals->n_allocs, 1u), work = l->n_aged++ * 3 / n_allocs;
        struct ages *x;

        if (row == FACTS_NO_ROW)
                return true;
        x = &l->ages[l->askers->of_row[row]];
        made_ns = (double)(b->time_ns - MIN(b->time_ns, s->from_ns));
        x->last_ns = MAX(x->last_ns, made_ns);
        if (!b->is_live) {
                x->longest = MAX(x->longest, (double)b->age_ns / span_ns);
                x->life_ns += (double)b->age_ns;
                x->n_released++;
                return true;
        }
        x->work[MIN(work, 2u)]++;
        x->late += l->n_aged * 2 > n_allocs;
        x->second_half += made_ns * 2 > span_ns;
        x->n[MIN((size_t)(made_ns * 3 / span_ns), 2u)]++;
        x->made_ns += made_ns;
        x->n_left++;
        return true;
}

/* From events, while they are few. */
static const struct ages *ages_of(struct left *l, const struct asker *a) {
        struct err err = {0};

        if (!l->ages) {
                l->ages = arena_alloc(l->f->arena, (l->askers->n + 1) * sizeof(l->ages[0]));
                if (query_view(l->f->q)->n_events <= FACTS_MAX_EVENTS)
                        query_blocks(l->f->q, &l->f->h->groups->answer->scope, add_age, l, &err);
        }
        return &l->ages[a - l->askers->items];
}

/* Whether of the blocks left each third of the time has a good part. */
static bool are_of_all_ages(struct left *l, const struct asker *a) {
        const struct ages *x = ages_of(l, a);
        double all = (double)(x->n[0] + x->n[1] + x->n[2]);

        for (size_t i = 0; i < 3; i++)
                if ((double)x->n[i] < AGES_MIN_SHARE * all + 0.5)
                        return false;
        return true;
}

/* Those that were released never became nearly as old as those that are left. */
static bool is_outliving(struct left *l, const struct asker *a) {
        return a->figures.end_blocks >= FORGOTTEN_MIN_BLOCKS && end_bytes(a) >= LEFT_MIN_BYTES &&
               (double)a->figures.n_frees >= LOST_MIN_FREED * (double)a->figures.n_allocs &&
               matters(l, a) && are_of_all_ages(l, a) && ages_of(l, a)->longest <= OUTLIVE_MAX_LIFE;
}

/* Most of what it had was released when the work was done, by a program that leaves little: those that are left were forgotten,
 * when they are as old as any. What a start-up makes is all of one age. */
static bool is_forgotten(struct left *l, const struct asker *a) {
        const struct query_totals *t = l->f->totals;
        double n_end = (double)a->figures.end_blocks;
        size_t n_more = 0;

        for (size_t i = l->half_idx; i < l->f->n_columns; i++)
                n_more += (double)a->c.blocks[i] >= FORGOTTEN_FACTOR * n_end;
        for (size_t i = l->early_idx; i < l->old_idx; i++)
                if ((double)a->c.blocks[i] <= n_end * 2)
                        return false; /* a queue that is empty now and then */
        return n_end >= FORGOTTEN_MIN_BLOCKS && n_more >= (l->f->n_columns - l->half_idx) / 2 &&
               (double)t->end_bytes <= LEAK_TIDY * (double)t->peak_bytes && are_of_all_ages(l, a);
}

static bool is_late(struct left *l, const struct asker *a) {
        double n_end = (double)a->figures.end_blocks;

        if (n_end > 0 && n_end - l->floor[l->half_idx] >= LEFT_LATE_SHARE * n_end)
                return true;
        return is_brief(l, MOMENT_S) && a->figures.n_frees == 0 &&
               (double)ages_of(l, a)->late >= LEFT_LATE_SHARE * n_end;
}

/* Again and again, to the end: what comes at one moment is part of something built then. */
static bool is_spread(const struct left *l, const struct asker *a) {
        struct series s = {.x = l->f->at_s, .n = l->f->n_columns, .quantum = 1};
        struct growth g = {.end_idx = l->f->n_columns};
        size_t n = 0;

        for (size_t i = 1; i < l->f->n_columns; i++)
                n += l->floor[i] > l->floor[i - 1];
        s.y = course_values(l->f->arena, a->c.blocks, l->f->n_columns);
        series_trend(&s, &g.trend);
        return n >= LEAK_MIN_RISES && g.trend.shape == SERIES_RISING && !is_brief(l, LEAK_MIN_S) &&
               l->f->at_s[l->f->n_columns - 1] - l->f->at_s[g.trend.begin_idx] >= LEAK_MIN_S &&
               growth_is_repeated(l->f, &a->c, &g);
}

/* A leak comes again and again by the same path. What is left of one block here and one there, under a function that many
 * call to allocate, is not one. */
static bool is_repeated(const struct left *l, const struct asker *a) {
        size_t asker = (size_t)(a - l->askers->items);
        double n_paths = 0;

        for (size_t row = 0; row < l->f->n_rows; row++)
                n_paths += l->askers->of_row[row] == asker && l->f->rows[row].self.end_blocks > 0;
        return (double)a->figures.end_blocks >= LEAK_MIN_PER_PATH * n_paths;
}

/* Blocks that are replaced become as old as those that are left, which are there as long as work goes on. */
static bool are_replaced(const struct ages *x) {
        return x->n_released > 0 && x->n_left > 0 &&
               x->life_ns / x->n_released * REPLACED_LIFE > x->last_ns - x->made_ns / x->n_left;
}

static bool has_marks(struct left *l, const struct asker *a) {
        if (!is_repeated(l, a))
                return false;
        return (is_lost_among_released(l, a) && matters(l, a) && !are_replaced(ages_of(l, a))) ||
               is_forgotten(l, a) || is_outliving(l, a);
}

/* Whether time tells nothing about when work was done: in a run of a moment, or where all of it came late. */
static bool is_only_work(const struct left *l) {
        return is_brief(l, MOMENT_S) ||
               facts_column_of_work(l->f, EARLY_SHARE) >= facts_column_of_time(l->f, 0.5);
}

/* Again and again by work: a short run may do all of it at what is one moment here. Only in a program that releases what others
 * allocate: one that releases nothing builds something. */
static bool is_spread_by_work(struct left *l, const struct asker *a) {
        const struct query_totals *t = l->f->totals;
        double n_allocs = (double)t->n_allocs - (double)a->figures.n_allocs;
        double n_frees = (double)t->n_frees - (double)a->figures.n_frees;
        const struct ages *x = ages_of(l, a);
        double all = (double)(x->work[0] + x->work[1] + x->work[2]);
        struct growth g = {.end_idx = l->f->n_columns};

        if (!is_brief(l, MOMENT_S) && !growth_is_repeated(l->f, &a->c, &g))
                return false; /* at a few moments: something is set up */
        if (all < LOST_MIN_BLOCKS || n_allocs < all / 2 || n_frees < (1 - LEAK_TIDY) * n_allocs ||
            !is_only_work(l) || are_replaced(x))
                return false;
        for (size_t i = 0; i < 3; i++)
                if ((double)x->work[i] < AGES_MIN_SHARE * all + 0.5)
                        return false;
        return true;
}

/* Whether blocks of the first half were replaced by others. What a function frees may be other blocks, which are only scratch: those
 * that are left tell. */
static bool is_renewed(struct left *l, const struct asker *a) {
        double n_frees = course_gain(a->c.n_frees, l->half_idx, l->f->n_columns - 1);
        double least = LEFT_REPLACED * (double)a->figures.end_blocks;
        const struct ages *x;

        if (n_frees < least)
                return false;
        x = ages_of(l, a);
        return x->n_left == 0 || (double)x->second_half >= least;
}

static enum left_class classify(struct left *l, const struct asker *a) {
        load_floor(l, a);
        if (has_marks(l, a))
                return LEFT_LEAK;
        if (is_late(l, a) || (matters(l, a) && is_spread_by_work(l, a)))
                return LEFT_LATE;
        return is_renewed(l, a) ? LEFT_STEADY : LEFT_START_UP;
}

/* What only ever rises is no level that it keeps, and nobody knows whether it comes to rest. */
static bool is_still_rising(struct left *l, const struct asker *a) {
        size_t n = 0;

        load_floor(l, a);
        for (size_t i = l->rising_idx + 1; i <= l->rising_end_idx; i++)
                n += l->floor[i] > l->floor[i - 1];
        return n >= RISING_MIN_COLUMNS &&
               l->floor[l->rising_end_idx] - l->floor[l->rising_idx] >= RISING_MIN_BLOCKS &&
               is_sure(l->f, end_bytes(a), a->figures.var[QUERY_END]) &&
               !are_replaced(ages_of(l, a));
}

/* Of what came late and was never released: one function with a good part of it, again and again. */
static bool stands_out(struct left *l, const struct asker *a, double late_bytes) {
        load_floor(l, a);
        return a->figures.end_blocks >= LEAK_MIN_BLOCKS &&
               end_bytes(a) >= LEAK_MIN_PART * late_bytes && matters(l, a) &&
               !are_replaced(ages_of(l, a)) && (is_spread(l, a) || is_spread_by_work(l, a));
}

struct suspect {
        uint32_t asker;
        double bytes;
};

static int by_bytes(const void *a, const void *b) {
        double x = ((const struct suspect *)a)->bytes, y = ((const struct suspect *)b)->bytes;

        return (x < y) - (x > y);
}

/* Those with marks of a leak, or late: what only moved is none, nor one of many that have as little as the others. */
static void judge(struct left *l, struct suspect *suspects, size_t n) {
        double leaked = 0, late = 0;

        if (n)
                qsort(suspects, n, sizeof(suspects[0]), by_bytes);
        for (size_t i = 0; i < n; i++) {
                const struct asker *a = &l->askers->items[suspects[i].asker];
                enum left_class *c = &l->class_of[suspects[i].asker];

                if (i < LEFT_MAX_SUSPECTS &&
                    is_taken_over(l->f, l->askers, &a->c, 0, l->f->n_columns - 1))
                        *c = LEFT_STEADY;
                leaked += *c == LEFT_LEAK ? suspects[i].bytes : 0;
                late += *c == LEFT_LATE ? suspects[i].bytes : 0;
        }
        for (size_t i = 0; i < n; i++) {
                enum left_class *c = &l->class_of[suspects[i].asker];

                if (*c == LEFT_LEAK && suspects[i].bytes < LEAK_ONE_OF_MANY * leaked)
                        *c = LEFT_LATE;
                else if (*c == LEFT_LATE && suspects[i].bytes >= LEAK_MIN_PART * late &&
                         stands_out(l, &l->askers->items[suspects[i].asker], late))
                        *c = LEFT_LEAK;
                if (*c == LEFT_LEAK &&
                    is_trifle(l->f, suspects[i].bytes, l->f->at_s[l->f->n_columns - 1]))
                        *c = LEFT_LATE;
        }
}

/* Of what is no alarm: what is still rising, the largest first. */
static void find_rising(struct left *l, struct suspect *calm, size_t n) {
        struct facts *f = l->f;
        size_t last = f->n_columns - 1;
        double span_s = f->at_s[l->rising_end_idx] - f->at_s[l->rising_idx];

        if (f->at_s[last] < LEAK_BRIEF_S) /* whatever is built still grows */
                return;
        if (n)
                qsort(calm, n, sizeof(calm[0]), by_bytes);
        for (size_t i = 0; i < n; i++) {
                const struct asker *a = &l->askers->items[calm[i].asker];
                enum left_class *c = &l->class_of[calm[i].asker];

                if (*c >= LEFT_LEAK || !is_still_rising(l, a) ||
                    (i < LEFT_MAX_SUSPECTS && is_taken_over(f, l->askers, &a->c, 0, last)))
                        continue;
                *c = LEFT_RISING;
                l->risen_bytes += end_bytes(a) *
                                  (l->floor[l->rising_end_idx] - l->floor[l->rising_idx]) /
                                  MAX((double)a->figures.end_blocks, 1);
                f->growth.open_bytes += end_bytes(a);
        }
        f->growth.open_bytes_per_s = span_s > 0 ? l->risen_bytes / span_s : 0;
        f->growth.open_since_s = f->begin_s + f->at_s[l->rising_idx];
}

struct left *left_new(struct facts *f, const struct askers *askers) {
        struct left *l = arena_alloc(f->arena, sizeof(*l));
        struct suspect *suspects = arena_alloc(f->arena, (askers->n + 1) * sizeof(suspects[0]));
        struct suspect *calm = arena_alloc(f->arena, (askers->n + 1) * sizeof(calm[0]));
        size_t n = 0, n_calm = 0;

        *l = (struct left){.f = f, .askers = askers};
        l->half_idx = MAX(facts_column_of_time(f, 0.5), facts_column_of_work(f, 0.5));
        l->old_idx = facts_column_of_time(f, LOST_OLD);
        l->early_idx = facts_column_of_time(f, EARLY_SHARE);
        l->rising_idx = facts_column_of_time(f, RISING_FROM);
        l->rising_end_idx = MAX(l->old_idx, l->rising_idx);
        l->class_of = arena_alloc(f->arena, (askers->n + 1) * sizeof(l->class_of[0]));
        l->floor = arena_alloc(f->arena, (f->n_columns + 1) * sizeof(l->floor[0]));
        for (size_t i = 0; i < askers->n; i++) {
                const struct asker *a = &askers->items[i];

                if (a->figures.end_bytes <= 0 || f->names_no_sites)
                        continue; /* different blocks in one: no rule tells what became of them */
                l->class_of[i] = f->is_claimed[a->row] ? LEFT_GROWING : classify(l, a);
                if (l->class_of[i] == LEFT_LEAK || l->class_of[i] == LEFT_LATE)
                        suspects[n++] = (struct suspect){(uint32_t)i, end_bytes(a)};
                if (l->class_of[i] != LEFT_GROWING)
                        calm[n_calm++] = (struct suspect){(uint32_t)i, end_bytes(a)};
        }
        judge(l, suspects, n);
        if (!f->totals->lacks_time)
                find_rising(l, calm, n_calm);
        return l;
}

/* ---- leak ------------------------------------------------------------------------------------ */

static void claim(struct facts *f, const struct askers *askers, size_t asker) {
        for (size_t row = 0; row < f->n_rows; row++)
                if (askers->of_row[row] == asker)
                        f->is_claimed[row] = true;
}

static const char *ending(const struct facts *f) {
        return f->source->is_windowed ? "at the end of the window" : "at the end";
}

/* What came in a stretch that is over does not fill. */
static bool fills(const struct left *l, const struct asker *a) {
        return l->floor[l->rising_end_idx] - l->floor[l->rising_idx] >=
               FILLS_SHARE * (double)a->figures.end_blocks;
}

/* Of a run that is too short to tell it from a cache that fills: that it grew. */
static const char *say_left(struct left *l, const struct asker *a, const struct finding *x,
                            uint64_t n_blocks) {
        struct facts *f = l->f;
        uint64_t n_left = (uint64_t)a->figures.end_blocks;
        const char *were = n_blocks == 1 ? "was" : "were", *rest = "none was freed", *left;
        struct unit_text bytes, blocks, span, all, early;

        if (a->figures.n_frees)
                rest = say(f, "the rest of its %s allocations were freed",
                           unit_count(&all, a->figures.n_allocs));
        if (x->is_too_short)
                left = say(f, "built up within %s and %s still allocated %s",
                           unit_duration(&span, unit_nearest(f->at_s[f->n_columns - 1] * 1e9)),
                           were, ending(f));
        else
                left = say(
                        f,
                        "%s still allocated %s, neither startup memory nor a cache of steady size",
                        were, ending(f));
        return say(f, "%s: %s in %s block%s %s%s; %s.", x->function, unit_bytes(&bytes, x->bytes),
                   unit_count(&blocks, n_blocks), plural(n_blocks), left,
                   n_blocks < n_left ? say(f, " (%s more are startup memory)",
                                           unit_count(&early, n_left - n_blocks))
                                     : "",
                   rest);
}

static void found_pace(struct left *l, struct finding *x, double bytes, double blocks) {
        struct facts *f = l->f;
        double span_s = f->at_s[f->n_columns - 1];

        found_number(x, "bytes_per_s", bytes / MAX(span_s, 1e-9));
        found_number(x, "rise_bytes", bytes);
        found_number(x, "rise_blocks", blocks);
        found_number(x, "since_s", f->begin_s);
        found_number(x, "until_s", f->begin_s + span_s);
        found_number(x, "is_uneven", 1);
}

static double pointless_bytes(const struct left *l, size_t asker) {
        double bytes = 0;

        for (uint32_t row = 0; row < l->f->n_rows; row++)
                if (l->askers->of_row[row] == asker)
                        bytes += row_lost_bytes(l->f, row);
        return bytes;
}

static void tell_leak(struct left *l, size_t asker) {
        const struct asker *a = &l->askers->items[asker];
        struct facts *f = l->f;
        uint64_t n_left = (uint64_t)a->figures.end_blocks, n_allocs = a->figures.n_allocs, n_blocks;
        bool is_task, is_short;
        struct name_frame frame = place_of_row(f, a->row, &is_task);
        struct finding *x;

        load_floor(l, a);
        is_short = fills(l, a) && is_too_short(f, end_bytes(a), (double)n_left);
        n_blocks = unit_nearest(lost_of(l, a).blocks);
        x = found(f, is_short ? "growing" : "leak", lost_bytes(l, a), a->row, QUERY_END);
        x->is_too_short = is_short;
        if (is_short && is_lost(pointless_bytes(l, asker), end_bytes(a), a->figures.n_frees))
                x->lost_bytes = unit_nearest(pointless_bytes(l, asker));
        x->is_brief = !x->lost_bytes &&
                      (is_short || (a->figures.n_frees == 0 && is_brief(l, LEAK_BRIEF_S)));

        x->function = place_name(f, &frame, is_task);
        x->text = say_left(l, a, x, n_blocks);
        x->next = next_callers(f, &frame, QUERY_END);
        found_number(x, "blocks", (double)n_blocks);
        found_number(x, "allocations", (double)n_allocs);
        found_number(x, "frees", (double)a->figures.n_frees);
        found_number(x, "call_paths", a->n_rows);
        if (is_short)
                found_pace(l, x, lost_bytes(l, a), (double)n_blocks);
        claim(f, l->askers, asker);
}

void find_leaks(struct left *l) {
        for (size_t i = 0; i < l->askers->n; i++) {
                const struct asker *a = &l->askers->items[i];

                if (l->class_of[i] == LEFT_LEAK && end_bytes(a) >= LEFT_MIN_BYTES &&
                    is_sure(l->f, end_bytes(a), a->figures.var[QUERY_END]))
                        tell_leak(l, i);
        }
}

/* ---- left at the end ------------------------------------------------------------------------- */

static void add_part(struct facts *f, struct str *to, double bytes, const char *what) {
        struct unit_text t;

        (void)f;
        if (bytes >= 1)
                str_addf(to, "%s%s %s", to->n ? ", " : "", unit_bytes(&t, unit_nearest(bytes)),
                         what);
}

static const char *say_split(struct left *l) {
        struct facts *f = l->f;
        struct str s = {0};
        const char *text;

        add_part(f, &s, l->bytes[LEFT_START_UP], "startup memory or built once");
        add_part(f, &s, l->bytes[LEFT_STEADY], "in caches of steady size");
        add_part(f, &s, l->bytes[LEFT_RISING], "never freed and still growing");
        add_part(f, &s, l->bytes[LEFT_LATE], "allocated later");
        text = say(f, ": %s", str_text(&s));
        str_done(&s);
        return text;
}

/* Much came later and stayed, or still grows, without the marks of a leak or of anything else. */
static bool is_undecided(const struct left *l) {
        double bytes = l->bytes[LEFT_LATE] + l->bytes[LEFT_RISING];

        return bytes >= LEAK_LARGE_BYTES / 16 &&
               bytes >= LEAK_MIN_WEIGHT_LARGE * facts_whole_bytes(l->f);
}

static const char *say_undecided(struct left *l) {
        struct facts *f = l->f;
        struct unit_text span, risen, from;

        if (l->bytes[LEFT_RISING] < l->bytes[LEFT_LATE])
                return " This run does not show whether what was allocated later leaks.";
        return say(f, " %s are too short to tell whether what still grew, by %s since %s, leaks.",
                   unit_duration(&span, unit_nearest(f->at_s[f->n_columns - 1] * 1e9)),
                   unit_bytes(&risen, unit_nearest(l->risen_bytes)),
                   unit_duration(&from, unit_nearest(f->growth.open_since_s * 1e9)));
}

static struct finding_left split(const struct left *l) {
        return (struct finding_left){unit_nearest(l->bytes[LEFT_START_UP] +
                                                  l->f->reserve_end_bytes),
                                     unit_nearest(l->bytes[LEFT_STEADY]),
                                     unit_nearest(l->bytes[LEFT_RISING]),
                                     unit_nearest(l->bytes[LEFT_LATE]),
                                     unit_nearest(l->f->collected_end_bytes),
                                     l->f->names_no_sites};
}

struct finding_left find_left(struct left *l) {
        const struct askers *askers = l->askers;
        struct facts *f = l->f;
        const struct asker *largest = NULL;
        struct unit_text bytes, blocks, most;
        uint64_t n_blocks = 0;
        bool is_task;
        struct name_frame frame;
        struct finding *x;
        double calm = 0;
        bool is_told = !f->totals->lacks_events && !f->names_no_sites;

        for (size_t i = 0; i < askers->n; i++) {
                const struct asker *a = &askers->items[i];
                enum left_class c = l->class_of[i];

                l->bytes[c] += end_bytes(a);
                l->blocks[c] += (uint64_t)MAX(a->figures.end_blocks, 0);
                if (c < LEFT_LEAK && end_bytes(a) > 0 &&
                    (!largest || end_bytes(a) > end_bytes(largest)))
                        largest = a;
        }
        for (enum left_class c = LEFT_START_UP; c < LEFT_LEAK; c++) {
                calm += l->bytes[c];
                n_blocks += l->blocks[c];
        }
        if (calm < LEFT_MIN_BYTES || !largest)
                return split(l);
        frame = place_of_row(f, largest->row, &is_task);
        x = found(f, "left-at-end", calm, largest->row, QUERY_END);
        x->function = place_name(f, &frame, is_task);
        x->text =
                say(f, "%s%s in %s block%s %s still allocated %s%s; most of it, %s, from %s.%s",
                    l->bytes[LEFT_LEAK] + l->bytes[LEFT_GROWING] > f->reserve_end_bytes ? "Another "
                                                                                        : "",
                    unit_bytes(&bytes, unit_nearest(calm)), unit_count(&blocks, n_blocks),
                    plural(n_blocks), n_blocks == 1 ? "was" : "were", ending(f),
                    is_told ? say_split(l) : "",
                    unit_bytes(&most, unit_nearest(end_bytes(largest))),
                    place_name(f, &frame, is_task),
                    f->has_losses             ? " Memcheck does not call it definitely lost."
                    : f->totals->lacks_events ? " Totals do not show whether it leaks."
                    : f->names_no_sites
                            ? " The source names no call sites, so it is unknown whether it leaks."
                    : is_undecided(l) ? say_undecided(l)
                                      : "");
        x->is_open = is_undecided(l);
        x->next = next_view(f, REQUEST_GROUPS, QUERY_END);
        found_number(x, "blocks", (double)n_blocks);
        if (f->names_no_sites)
                return split(l);
        found_number(x, "start_up_bytes", l->bytes[LEFT_START_UP]);
        found_number(x, "steady_bytes", l->bytes[LEFT_STEADY]);
        found_number(x, "rising_bytes", l->bytes[LEFT_RISING]);
        found_number(x, "risen_bytes", l->risen_bytes);
        found_number(x, "later_bytes", l->bytes[LEFT_LATE]);
        return split(l);
}
