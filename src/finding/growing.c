/* SPDX-License-Identifier: MIT */
/* growing: what rises steadily behind the warm-up. The tree of functions is gone down to the one responsible: as
 * long as one callee has nearly all of a caller's rise, it is that callee's. */
#include "finding/kept_sizes.h"
#include "finding/rules.h"

enum {
        GROW_MAX_CANDIDATES = 512,
        GROW_MAX_ROWS = 2048,
        GROW_MIN_BLOCKS = 8,   /* of parts that rise together */
        GROW_MAX_PARTS = 12,   /* callees that rise together */
        GROW_SURE_BLOCKS = 16, /* fewer more than before are there by chance */
        GROW_MAX_PASSES = 8,   /* over all blocks, for their ages */
};
/* of a caller's rise: from here on it is the callee's */
#define GROW_CALLEE_SHARE 0.85
/* Of all that grew in the same time: less is one of many. In short runs, and where it is released at the end, programs that
 * read their input and build something look the same, and it must stand out more. */
#define GROW_MIN_SHARE 0.1
#define GROW_MIN_SHARE_SHORT 0.3
#define GROW_MIN_SHARE_RELEASED 0.5
#define GROW_LOOK_SHARE 0.02 /* of what rose late: with less it is not looked at */
/* Rising alone is what any program does that builds something. It matters when it is large, … */
#define GROW_MIN_WEIGHT 0.25 /* … of the peak, */
#define GROW_MIN_WEIGHT_LARGE 0.1
#define GROW_LARGE_BYTES 256e3
#define GROW_MAX_KEPT 0.02 /* … when nearly all else that is allocated is released again, */
#define GROW_WHOLE_S 60.0
#define GROW_START_SHARE 0.1 /* (counted behind the start, which keeps much) */
#define GROW_LONG_S 10.0     /* … or when it goes on for long. */
/* What a run of so long built and released at the end, it took back itself: no pace is told of it. Of a run of a moment nobody can tell. */
#define GROW_TAKEN_BACK_S 60.0
#define GROW_BRIEF_S 2.0
#define GROW_ALL_SHARE 0.95 /* of what it has: as good as all of it */
#define GROW_MIN_S 0.1      /* What takes less is a burst: something is built. */
/* The function that asked must gain so much of what one of its paths does: else another path loses it. */
#define GROW_NET_SHARE 0.5
/* As many blocks as before that hold more: what they lose now and then is at most so much of what they gain. */
#define GROW_MAX_DOWN 0.2
/* Where so many are released, ages of those there tell whether it is always others: so many of the first half must still be there. */
#define GROW_REPLACED 0.1
#define GROW_OLD_SHARE 0.5
#define GROW_MORE_ASKED 1.25 /* in the second half of the time, of the first */
/* Callees rise together when their blocks are as many, or twice or three times as many. */
#define GROW_TOGETHER 0.05 /* with less of the rise it is no part */
#define GROW_AS_MANY 0.02

struct growing {
        struct facts *f;
        const struct askers *askers;
        struct places p;
        uint32_t *rows;
        size_t n_rows;
        double late_rise;            /* of all sites that did */
        const struct course *caller; /* that rises by its own allocations; NULL: none does */
        unsigned n_passes;           /* over all blocks */
};

/* ---- candidates ------------------------------------------------------------------------------ */

static int64_t highest_late(const struct facts *f, const struct course *c) {
        int64_t high = 0;

        for (size_t i = f->n_columns / 2; i < f->n_columns; i++)
                high = MAX(high, c->bytes[i]);
        return high;
}

/* From about the middle on: in one column a large block may be there for a moment. */
static double late_rise(const struct facts *f, const struct course *c) {
        size_t middle = f->n_columns / 2, few = f->n_columns / 16;
        int64_t low = c->bytes[middle];

        for (size_t i = middle - few; i <= middle + few; i++)
                low = MIN(low, c->bytes[i]);
        return (double)highest_late(f, c) - (double)low;
}

struct candidate {
        uint32_t row;
        double rise;
};

static int by_rise(const void *a, const void *b) {
        double x = ((const struct candidate *)a)->rise, y = ((const struct candidate *)b)->rise;

        return (x < y) - (x > y);
}

/* The sites that rose most in the later half (in what did not, nothing rises), with all others of the same functions. */
static void choose_rows(struct growing *g) {
        struct facts *f = g->f;
        struct candidate *all = arena_alloc(f->arena, (f->n_told + 1) * sizeof(all[0]));
        bool *is_asker = arena_alloc(f->arena, g->askers->n + 1);
        size_t n = 0;

        for (size_t row = 0; row < f->n_told; row++) {
                struct course c = facts_course(f, row);
                double rise = f->is_claimed[row] ? 0 : late_rise(f, &c);

                if (rise > 0)
                        all[n++] = (struct candidate){(uint32_t)row, rise};
                g->late_rise += MAX(rise, 0);
        }
        if (n)
                qsort(all, n, sizeof(all[0]), by_rise);
        n = MIN(n, (size_t)GROW_MAX_CANDIDATES);
        for (size_t i = 0; i < n; i++)
                is_asker[g->askers->of_row[all[i].row]] = true;
        g->rows = arena_alloc(f->arena, GROW_MAX_ROWS * sizeof(g->rows[0]));
        for (size_t row = 0; row < f->n_told && g->n_rows < GROW_MAX_ROWS; row++)
                if (is_asker[g->askers->of_row[row]] && !f->is_claimed[row])
                        g->rows[g->n_rows++] = (uint32_t)row;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* Whether something fell all the way: what comes and goes does not. */
static bool is_falling(const struct growth *x, const struct course *c) {
        size_t begin = x->trend.begin_idx, last = x->end_idx - 1, third = (last - begin) / 3;
        int64_t low = INT64_MAX, high = INT64_MIN;

        if (c->bytes[last] >= c->bytes[begin])
                return false;
        for (size_t i = begin; i <= begin + third; i++)
                low = MIN(low, c->bytes[i]);
        for (size_t i = last - third; i <= last; i++)
                high = MAX(high, c->bytes[i]);
        return high < low;
}

/* What a site has at the end of the time for sure and did not have at its begin. */
static double steady_gain(const struct growth *x, const struct course *c) {
        size_t begin = x->trend.begin_idx, last = x->end_idx - 1, few = (last - begin) / 10;
        int64_t high = c->bytes[begin], low = c->bytes[last];

        for (size_t i = 0; i <= few; i++) {
                high = MAX(high, c->bytes[begin + i]);
                low = MIN(low, c->bytes[last - i]);
        }
        return (double)low - (double)high;
}

/* What all sites that gained in the same time gained together, without what others gave up little by little: that only moved. */
static double gain_of_all(struct facts *f, const struct growth *x) {
        double gained = 0, given_up = 0;

        for (size_t row = 0; row < f->n_told; row++) {
                struct course c = facts_course(f, row);

                gained += MAX(steady_gain(x, &c), 0);
                if (is_falling(x, &c))
                        given_up -= growth_gain(x, &c);
        }
        return MAX(gained - given_up, x->rise_bytes);
}

static bool is_long(const struct growth *x) {
        return x->end_s - x->begin_s >= GROW_LONG_S;
}

static bool stands_out(struct facts *f, const struct growth *x) {
        double least = x->is_released ? GROW_MIN_SHARE_RELEASED : GROW_MIN_SHARE_SHORT;

        return x->rise_bytes >= (is_long(x) ? GROW_MIN_SHARE : least) * gain_of_all(f, x);
}

static bool matters(struct facts *f, const struct growth *x) {
        size_t last = x->end_idx - 1;
        size_t begin =
                MIN(MAX(x->trend.begin_idx, facts_column_of_time(f, GROW_START_SHARE)), last);
        double n_allocs = course_gain(f->total.n_allocs, begin, last);
        double n_kept = course_gain(f->total.blocks, begin, last);

        double weight = x->weight_bytes / ((double)f->totals->peak_bytes + 1);

        return weight >= GROW_MIN_WEIGHT ||
               (weight >= GROW_MIN_WEIGHT_LARGE && x->weight_bytes >= GROW_LARGE_BYTES) ||
               MAX(n_kept, x->rise_blocks) <= GROW_MAX_KEPT * n_allocs || is_long(x);
}

/* Of the function that asked, over all of its paths: what moves from one to another has not grown. */
static bool is_net(struct growing *g, uint32_t place, const struct growth *x) {
        double gained = 0;

        for (size_t i = 0; i < g->n_rows; i++) {
                struct course c = facts_course(g->f, g->rows[i]);
                double own = growth_gain(x, &c);
                const struct asker *a = &g->askers->items[g->askers->of_row[g->rows[i]]];

                if (own > 0 && places_has(&g->p, place, g->rows[i]))
                        gained += MIN(own, MAX(growth_gain(x, &a->c), 0));
        }
        return gained >= GROW_NET_SHARE * x->rise_bytes;
}

/* Blocks of a cache are replaced by others, by chance larger: as many as before, and not much more in all, or up and down by chance.
 * A buffer that is made larger again and again has much more in the end, and goes up. */
static bool is_only_resized(const struct growth *x, const struct course *c) {
        size_t last = x->end_idx - 1, middle = x->trend.begin_idx + (last - x->trend.begin_idx) / 2;
        double mean = x->now_bytes / MAX(x->now_blocks, 1), up = 0, down = 0;

        if (x->rise_blocks * mean < x->rise_bytes / 2 &&
            x->rise_bytes < (x->now_bytes - x->rise_bytes) / 2)
                return true;
        if (course_gain(c->blocks, middle, last) > 0 &&
            course_gain(c->blocks, middle, last) * mean >= course_gain(c->bytes, middle, last) / 2)
                return false;
        for (size_t i = middle + 1; i <= last; i++) {
                up += MAX(course_gain(c->bytes, i - 1, i), 0);
                down += MAX(course_gain(c->bytes, i, i - 1), 0);
        }
        return down > GROW_MAX_DOWN * up;
}

/* ---- ages ------------------------------------------------------------------------------------ */

struct old_blocks {
        struct growing *g;
        uint32_t place;
        uint64_t from_ns, half_ns, end_ns;
        double n; /* made in the first half of the rise, and there at its end */
};

static bool count_old(void *ctx, const struct query_block *b) {
        struct old_blocks *o = ctx;
        uint32_t row = facts_row_of_stack(o->g->f, b->stack);

        if (b->time_ns >= o->half_ns)
                return false;
        if (row != FACTS_NO_ROW && b->time_ns >= o->from_ns &&
            (b->is_live || b->time_ns + b->age_ns > o->end_ns) &&
            places_has(&o->g->p, o->place, row))
                o->n += b->n_blocks;
        return true;
}

/* Whether ever more of it is asked for: then ever more is there at a time, though none stays. */
static bool is_asked_more(const struct facts *f, const struct course *c, const struct growth *x) {
        size_t begin = x->trend.begin_idx, last = x->end_idx - 1, half = begin;

        while (half < last && f->at_s[half] < (f->at_s[begin] + f->at_s[last]) / 2)
                half++;
        return course_gain(c->n_allocs, half, last) >
               GROW_MORE_ASKED * course_gain(c->n_allocs, begin, half);
}

/* Whether the blocks that make it high are those that made it rise. Where there are ever more sessions at a time, each of them ends:
 * what is there is new. A queue whose reader is too slow is new too, but nobody asks for more than before. */
static bool has_old_blocks(struct growing *g, uint32_t place, const struct course *c,
                           const struct growth *x) {
        struct facts *f = g->f;
        size_t last = x->end_idx - 1, half = x->trend.begin_idx;
        double *floor = course_values(f->arena, c->blocks, x->end_idx), level;
        struct old_blocks o = {.g = g, .place = place};
        struct err err = {0};

        if (x->n_frees < GROW_REPLACED * x->n_allocs || /* or blocks that are made larger */
            x->rise_blocks * x->now_bytes < x->rise_bytes * x->now_blocks / 2 ||
            (!is_asked_more(f, c, x) && x->rise_blocks >= GROW_SURE_BLOCKS) ||
            query_view(f->q)->n_events > FACTS_MAX_EVENTS || g->n_passes >= GROW_MAX_PASSES)
                return true;
        series_floor(floor, x->end_idx, floor);
        level = (floor[half] + floor[last]) / 2;
        while (half < last && floor[half] < level)
                half++;
        o.from_ns = f->h->at_ns[x->trend.begin_idx];
        o.half_ns = f->h->at_ns[half];
        o.end_ns = f->h->at_ns[last];
        g->n_passes++;
        query_blocks(f->q, &f->h->groups->answer->scope, count_old, &o, &err);
        return o.n >= GROW_OLD_SHARE * (floor[half] - floor[x->trend.begin_idx]);
}

/* Of samples: those that are still there, or were when there were most. */
static bool is_founded(struct growing *g, uint32_t place, const struct growth *x) {
        double var = 0;

        for (size_t i = 0; i < g->n_rows && query_sample_bytes(g->f->q); i++)
                if (places_has(&g->p, place, g->rows[i])) {
                        const double *v = g->f->rows[g->rows[i]].self.var;

                        var += x->is_released ? v[QUERY_PEAK] : v[QUERY_END];
                }
        return is_sure(g->f, x->rise_bytes, var);
}

static bool is_growing(struct growing *g, uint32_t place, const struct course *c,
                       const struct growth *x) {
        return x->is_rising && x->end_s - x->begin_s >= GROW_MIN_S && !is_only_resized(x, c) &&
               x->rise_bytes > 0 && !is_trifle(g->f, x->weight_bytes, x->end_s) &&
               stands_out(g->f, x) && matters(g->f, x) && is_net(g, place, x) &&
               is_founded(g, place, x) && has_old_blocks(g, place, c, x) &&
               !is_taken_over(g->f, g->askers, c, x->trend.begin_idx, x->end_idx - 1);
}

/* ---- telling --------------------------------------------------------------------------------- */

/* A task is what the largest site brings: one block each. */
static double per_task(const struct growing *g, uint32_t row, const struct growth *x) {
        struct course c = facts_course(g->f, row);
        double n = course_gain(c.blocks, x->trend.begin_idx, x->end_idx - 1);

        return n > 0 ? x->rise_bytes / n : 0;
}

/* Of which sizes the blocks are that stayed. */
static struct kept_sizes sizes_of(struct growing *g, uint32_t place, const struct growth *x,
                                  bool only_self) {
        struct facts *f = g->f;
        bool *is_of = arena_alloc(f->arena, f->n_rows + 1);
        struct kept_sizes sizes = {0};

        if (query_view(f->q)->n_events > FACTS_MAX_EVENTS || g->n_passes >= GROW_MAX_PASSES)
                return sizes;
        g->n_passes++;
        for (size_t i = 0; i < g->n_rows; i++)
                is_of[g->rows[i]] = only_self ? g->p.of_row[g->rows[i]] == place
                                              : places_has(&g->p, place, g->rows[i]);
        kept_sizes_find(f, is_of, f->h->at_ns[x->trend.begin_idx], f->h->at_ns[x->end_idx - 1],
                        &sizes);
        return sizes;
}

static const char *say_each(struct growing *g, uint32_t row, const struct growth *x, bool is_spawn,
                            const struct kept_sizes *sizes) {
        struct facts *f = g->f;
        const char *unit = x->n_frees > x->n_allocs / 10 ? "block kept" : "allocation";
        const char *mean = sizes->is_wide ? " on average" : "";
        struct unit_text each, n;

        if (is_spawn)
                return say(f, "%s per task", unit_bytes(&each, unit_nearest(per_task(g, row, x))));
        if (x->rise_blocks < 1 || x->rise_blocks < x->n_allocs / 1e6)
                return "in blocks that keep growing";
        unit_bytes(&each, unit_nearest(x->rise_bytes / x->rise_blocks));
        if (x->n_allocs / x->rise_blocks < 2)
                return sizes->text ? sizes->text : say(f, "%s per %s%s", each.s, unit, mean);
        return say(f, "%s%s%s%s; 1 in %s allocations is kept", sizes->text ? sizes->text : each.s,
                   sizes->text ? "" : " per ", sizes->text ? "" : unit, sizes->text ? "" : mean,
                   unit_count(&n, unit_nearest(x->n_allocs / x->rise_blocks)));
}

/* It goes on at no pace when the program ended it. */
static const char *say_pace(struct facts *f, const struct growth *x, bool is_too_short) {
        struct unit_text t, rise;

        if (is_too_short && x->rise_bytes < GROW_ALL_SHARE * x->now_bytes)
                return say(f, ", %s of it built up in the last %s",
                           unit_bytes(&rise, unit_nearest(x->rise_bytes)),
                           unit_duration(&t, unit_nearest((x->end_s - x->begin_s) * 1e9)));
        if (is_too_short || (x->is_released && x->end_s < GROW_TAKEN_BACK_S))
                return say(f, " built up within %s",
                           unit_duration(&t, unit_nearest((x->end_s - x->begin_s) * 1e9)));
        return say(f, ", growing by %s", say_rate(f, x->trend.slope));
}

static const char *say_released(struct facts *f, const struct growth *x) {
        if (x->is_released)
                return ", freed only at the end";
        if (x->freed_last_s == 0)
                return ", nothing freed";
        if (x->freed_last_s <= x->begin_s)
                return say(f, ", nothing freed since %s",
                           say_moment(f, f->begin_s + x->freed_last_s));
        return "";
}

/* Marks the sites a finding is about; gives the one that rose most. */
static uint32_t claim(struct growing *g, uint32_t place, const struct growth *x, bool only_self) {
        uint32_t best = g->p.items.items[place].row;
        double most = -1;

        for (size_t i = 0; i < g->n_rows; i++) {
                uint32_t row = g->rows[i];
                struct course c = facts_course(g->f, row);

                if (only_self ? g->p.of_row[row] != place : !places_has(&g->p, place, row))
                        continue;
                g->f->is_claimed[row] = true;
                if (growth_gain(x, &c) > most) {
                        most = growth_gain(x, &c);
                        best = row;
                }
        }
        return best;
}

/* What was there at most. Nothing was released before the end: all that was allocated. */
static double most_bytes(struct growing *g, uint32_t place, const struct growth *x,
                         bool only_self) {
        const struct place *p = &g->p.items.items[place];
        const struct course *c = only_self ? &p->self : &p->all;
        double bytes = 0;

        if (!x->is_released || c->n_frees[MAX(x->end_idx, 2u) - 2])
                return x->now_bytes; /* in the last column it may have begun to release them */
        for (size_t i = 0; i < g->n_rows; i++)
                if (only_self ? g->p.of_row[g->rows[i]] == place
                              : places_has(&g->p, place, g->rows[i]))
                        bytes += (double)g->f->rows[g->rows[i]].self.alloc_bytes;
        return bytes;
}

static double lost_of(const struct growing *g, uint32_t place, bool only_self) {
        double bytes = 0;

        for (size_t i = 0; i < g->n_rows; i++)
                if (only_self ? g->p.of_row[g->rows[i]] == place
                              : places_has(&g->p, place, g->rows[i]))
                        bytes += row_lost_bytes(g->f, g->rows[i]);
        return bytes;
}

static void tell(struct growing *g, uint32_t place, const struct growth *x, bool only_self) {
        struct facts *f = g->f;
        const struct place *p = &g->p.items.items[place];
        uint32_t row = claim(g, place, x, only_self);
        bool is_spawn = place_row_spawns(f, row), is_task = p->is_task;
        struct kept_sizes sizes = sizes_of(g, place, x, only_self);
        struct name_frame frame = p->frame;
        struct unit_text now;
        struct finding *y;

        if (g->p.of_row[row] == place) /* the line is that of the largest site */
                frame = place_of_row(f, row, &is_task);
        y = found(f, "growing", most_bytes(g, place, x, only_self), row, QUERY_GROWTH);
        y->function = place_name(f, &frame, is_task);
        y->is_too_short = !x->is_released && is_too_short(f, x->now_bytes, x->now_blocks);
        if (y->is_too_short) {
                double lost = lost_of(g, place, only_self);

                y->lost_bytes =
                        is_lost(lost, x->now_bytes, (uint64_t)x->n_frees) ? unit_nearest(lost) : 0;
        }
        y->is_brief =
                !y->lost_bytes &&
                (y->is_too_short || x->end_s < (x->is_released ? GROW_TAKEN_BACK_S : GROW_BRIEF_S));
        y->text = say(f, "%s%s: %s%s, %s%s.", place_name(f, &frame, is_task),
                      is_spawn ? " spawns tasks that accumulate" : "", unit_bytes(&now, y->bytes),
                      say_pace(f, x, y->is_too_short), say_each(g, row, x, is_spawn, &sizes),
                      say_released(f, x));
        y->next = next_growth(f, &frame, only_self ? &p->self : &p->all, x);
        found_number(y, "bytes_per_s", x->trend.slope);
        found_number(y, "rise_bytes", x->rise_bytes);
        found_number(y, "rise_blocks", x->rise_blocks);
        found_number(y, "bytes_per_allocation",
                     x->rise_blocks >= 1 ? x->rise_bytes / x->rise_blocks : 0);
        found_number(y, "allocations", x->n_allocs);
        found_number(y, "frees", x->n_frees);
        if (is_spawn)
                found_number(y, "bytes_per_task", per_task(g, row, x));
        found_number(y, "since_s", f->begin_s + x->begin_s);
        found_number(y, "until_s", f->begin_s + x->end_s);
        found_number(y, "fit", x->trend.fit);
        found_number(y, "call_paths", p->n_rows);
        if (x->is_uneven)
                found_number(y, "is_uneven", 1);
}

/* ---- the function responsible ---------------------------------------------------------------- */

static bool is_multiple(double a, double b) {
        double ratio = a > b ? a / b : b / a, whole = (double)unit_nearest(ratio);

        return ratio < 4.5 && ratio > whole * (1 - GROW_AS_MANY) &&
               ratio < whole * (1 + GROW_AS_MANY);
}

/* What shares in the rise of a place: its own sites and its callees. */
struct parts {
        size_t n;
        double most, blocks; /* of the largest: share of the rise; of the first: blocks */
        uint32_t callee;     /* PLACE_NONE: the place's own sites have most */
        bool is_together;    /* all have as many blocks, or a small multiple */
};

static void parts_add(struct growing *g, struct parts *p, const struct course *c, uint32_t callee,
                      const struct growth *x) {
        struct growth own;
        double share = growth_gain(x, c) / x->rise_bytes;
        double blocks = (double)c->blocks[x->end_idx - 1] - (double)c->blocks[x->trend.begin_idx];

        if (share < GROW_TOGETHER)
                return;
        if (share > p->most) {
                p->most = share;
                p->callee = callee;
        }
        if (p->n++ == 0)
                p->blocks = blocks;
        growth_of(g->f, c, g->caller, &own);
        p->is_together &= blocks >= GROW_MIN_BLOCKS && is_multiple(blocks, p->blocks) &&
                          own.is_rising &&
                          !is_taken_over(g->f, g->askers, c, x->trend.begin_idx, x->end_idx - 1);
}

static struct parts parts_of(struct growing *g, uint32_t place, const struct growth *x) {
        const struct place *p = &g->p.items.items[place];
        struct parts parts = {.callee = PLACE_NONE, .is_together = true};

        if (p->self.bytes)
                parts_add(g, &parts, &p->self, PLACE_NONE, x);
        for (uint32_t c = p->first_child; c != PLACE_NONE; c = g->p.items.items[c].next)
                parts_add(g, &parts, &g->p.items.items[c].all, c, x);
        parts.is_together &= parts.n <= GROW_MAX_PARTS;
        return parts;
}

static bool search(struct growing *g, uint32_t place);

static bool search_parts(struct growing *g, uint32_t place) {
        const struct place *p = &g->p.items.items[place];
        struct growth own;
        bool is_found = false;

        if (p->self.bytes) {
                growth_of(g->f, &p->self, g->caller, &own);
                is_found = is_growing(g, place, &p->self, &own);
                if (is_found)
                        tell(g, place, &own, true);
        }
        for (uint32_t c = p->first_child; c != PLACE_NONE; c = g->p.items.items[c].next)
                is_found |= search(g, c);
        return is_found;
}

/* Tells about what rises at a place or below it; false: nothing does. */
static bool search(struct growing *g, uint32_t place) {
        const struct place *p = &g->p.items.items[place];
        const struct course *caller = g->caller;
        struct parts parts;
        struct growth x;
        bool is_found;

        if (late_rise(g->f, &p->all) < GROW_LOOK_SHARE * g->late_rise)
                return false;
        growth_of(g->f, &p->all, g->caller, &x);
        if (p->depth == 0 || !is_growing(g, place, &p->all, &x))
                return search_parts(g, place);
        parts = parts_of(g, place, &x);
        if ((parts.n > 1 && parts.is_together && p->depth > 1) ||
            (parts.most >= GROW_CALLEE_SHARE && parts.callee == PLACE_NONE)) {
                tell(g, place, &x, false);
                return true;
        }
        if (x.is_uneven && !g->caller && x.n_frees >= GROW_REPLACED * x.n_allocs)
                g->caller = &p->all;
        is_found = search_parts(g, place);
        g->caller = caller;
        return is_found;
}

/* What functions have gained that rise themselves: a few that are filled one after the other look like a rise together. */
static double risen_by_functions(struct facts *f, const struct askers *askers) {
        double sum = 0;

        for (size_t i = 0; i < askers->n; i++) {
                const struct course *c = &askers->items[i].c;
                struct growth own;

                if (late_rise(f, c) <= 0)
                        continue;
                growth_of(f, c, NULL, &own);
                if (own.is_rising && own.rise_bytes > 0 && own.n_frees < own.n_allocs / 2 &&
                    !is_taken_over(f, askers, c, own.trend.begin_idx, own.end_idx - 1))
                        sum += own.rise_bytes;
        }
        return sum;
}

/* The program rises, and nothing in it stands out: said of long runs, where it matters and is no program that builds something. */
static void tell_whole(struct growing *g) {
        struct facts *f = g->f;
        struct unit_text now, n, most;
        struct finding *y;
        struct growth x;
        int64_t largest = 0;

        growth_of(f, &f->total, NULL, &x);
        if (!x.is_rising || x.end_s - x.begin_s < GROW_WHOLE_S ||
            f->growth.risen_bytes < GROW_NET_SHARE * x.rise_bytes ||
            x.rise_bytes < GROW_MIN_WEIGHT * (double)f->totals->peak_bytes)
                return;
        for (size_t i = 0; i < g->askers->n; i++)
                largest = MAX(largest, g->askers->items[i].figures.end_bytes);
        y = found_about_none(
                f, "growing",
                say(f, "%s, growing by %s in total, across %s functions, none with more than %s.",
                    unit_bytes(&now, unit_nearest(x.now_bytes)), say_rate(f, x.trend.slope),
                    unit_count(&n, g->askers->n), unit_bytes(&most, (uint64_t)largest)));
        y->bytes = unit_nearest(x.now_bytes);
        y->next = next_view(f, REQUEST_TREE, QUERY_GROWTH);
        found_number(y, "bytes_per_s", x.trend.slope);
        found_number(y, "rise_bytes", x.rise_bytes);
        found_number(y, "functions", (double)g->askers->n);
}

/* Of all together. */
static void note_growth(struct facts *f, const struct askers *askers) {
        struct growth x;

        growth_of(f, &f->total, NULL, &x);
        f->growth.risen_bytes = risen_by_functions(f, askers);
        if (!x.is_rising || x.rise_bytes <= 0 ||
            f->growth.risen_bytes < GROW_NET_SHARE * x.rise_bytes)
                return;
        f->growth.bytes_per_s = x.trend.slope;
        f->growth.since_s = f->begin_s + x.begin_s;
        f->growth.is_uneven = x.is_uneven;
}

void find_growing(struct facts *f, const struct askers *askers) {
        struct growing g = {.f = f, .askers = askers};

        note_growth(f, askers);
        choose_rows(&g);
        places_build(&g.p, f, g.rows, g.n_rows);
        if (!search(&g, 0))
                tell_whole(&g);
        places_done(&g.p);
}
