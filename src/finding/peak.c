/* SPDX-License-Identifier: MIT */
/* short-peak: the highest moment lies far above the level all the rest of the time keeps, and is over soon. */
#include "finding/rules.h"

enum { PEAK_COLUMNS = 200, PEAK_MIN_BYTES = 512 * 1024 };
#define PEAK_MIN_FACTOR 2.0 /* of the level */
#define PEAK_MAX_TIME 0.15  /* share of the time that is as high */
#define START_UP_MAX 0.65   /* share of the time until it is over, at the start */
#define START_UP_REST 0.3   /* share of the time, the last, that keeps a level */
#define START_UP_LEVEL 0.25 /* of the height: how far above it */
#define PEAK_MIN_PART 0.25  /* of the height: who has less did not make it */

static bool is_high(const struct facts *f, double level) {
        double peak = (double)f->totals->peak_bytes;

        return peak - level >= PEAK_MIN_BYTES && peak >= PEAK_MIN_FACTOR * level;
}

/* What is still there at the end only came late. */
static bool is_over(const struct facts *f, double level) {
        return (double)f->totals->end_bytes <= level + ((double)f->totals->peak_bytes - level) / 2;
}

static bool is_short(const struct facts *f, const struct series_spike *s) {
        return is_high(f, s->level) && is_over(f, s->level) && s->share <= PEAK_MAX_TIME;
}

/* A start-up may take a good part of a short run: then the level is that of the time behind it. */
static bool is_start_up(const struct facts *f, const struct series *s, struct series_spike *ret) {
        size_t late = (size_t)((double)s->n * (1 - START_UP_REST)), n_high = 0, end = 0;
        double level = series_median(s->y + late, s->n - late), height = s->y[ret->top_idx] - level;

        for (size_t i = 0; i < s->n; i++)
                if (s->y[i] > level + height / 2) {
                        n_high++;
                        end = i + 1;
                }
        if (!is_high(f, level) || (double)end > START_UP_MAX * (double)s->n)
                return false;
        for (size_t i = late; i < s->n; i++)
                if (s->y[i] - level > START_UP_LEVEL * height)
                        return false;
        ret->level = level;
        ret->share = (double)n_high / (double)s->n;
        return true;
}

/* Of several processes: whoever ends gives all back, which is no spike. Each that makes one has it told of itself. */
static bool is_sum(const struct facts *f) {
        return f->source->answer->scope.process == QUERY_ALL && query_view(f->q)->n_processes > 1;
}

static bool spike_of(struct facts *f, struct series_spike *ret) {
        const struct query_scope *scope = &f->h->groups->answer->scope;
        struct query_column *columns = arena_alloc(f->arena, PEAK_COLUMNS * sizeof(columns[0]));
        double *x = arena_alloc(f->arena, PEAK_COLUMNS * sizeof(x[0]));
        double *y = arena_alloc(f->arena, PEAK_COLUMNS * sizeof(y[0]));
        struct series s = {.x = x, .y = y, .n = PEAK_COLUMNS};
        struct err err = {0};

        if (query_timeline(f->q, scope, PEAK_COLUMNS, facts_max_events(f->q), columns, &err) < 0)
                return false;
        for (size_t i = 0; i < PEAK_COLUMNS; i++) {
                x[i] = (double)columns[i].begin_ns / 1e9;
                y[i] = (double)columns[i].live_bytes;
        }
        return series_spike(&s, ret) && (is_short(f, ret) || is_start_up(f, &s, ret));
}

static double level_of(struct facts *f, const struct asker *a) {
        return series_median(course_values(f->arena, a->c.bytes, f->n_columns), f->n_columns);
}

void find_short_peak(struct facts *f, const struct askers *askers) {
        double peak = (double)f->totals->peak_bytes, most = 0, height, span;
        const struct asker *maker = NULL;
        struct unit_text high, low, own, lasted;
        struct series_spike s;
        struct finding *x;
        struct name_frame frame;
        uint32_t maker_row;
        bool is_task;

        if (peak < PEAK_MIN_BYTES || is_sum(f) || !spike_of(f, &s))
                return;
        height = peak - s.level;
        for (size_t i = 0; i < askers->n; i++) {
                const struct asker *a = &askers->items[i];
                double above = (double)a->figures.peak_bytes;

                if (above > MAX(most, PEAK_MIN_PART * height))
                        above -= level_of(f, a);
                else
                        continue;
                if (above > most) {
                        most = above;
                        maker = a;
                }
        }
        if (!maker || most < PEAK_MIN_PART * height || f->is_claimed[maker->row])
                return;
        maker_row = askers_row(askers, f, (size_t)(maker - askers->items), QUERY_PEAK);
        frame = place_of_row(f, maker_row, &is_task);
        span = f->at_s[f->n_columns - 1];
        x = found(f, "short-peak", height, maker_row, QUERY_PEAK);
        x->function = place_name(f, &frame, is_task);
        x->text = say(
                f,
                "%s caused a short peak of %s at %s, over after %s; the usual level is %s, and %s (%u %%) of the peak was its own.",
                place_name(f, &frame, is_task), unit_bytes(&high, unit_nearest(peak)),
                say_moment(f, (double)f->totals->peak_ns / 1e9),
                unit_duration(&lasted, unit_nearest(s.share * span * 1e9)),
                unit_bytes(&low, unit_nearest(s.level)),
                unit_bytes(&own, (uint64_t)maker->figures.peak_bytes),
                share_pct((double)maker->figures.peak_bytes, peak));
        x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "peak_bytes", peak);
        found_number(x, "level_bytes", s.level);
        found_number(x, "site_bytes", (double)maker->figures.peak_bytes);
        found_number(x, "site_blocks", (double)maker->figures.peak_blocks);
        found_number(x, "at_s", (double)f->totals->peak_ns / 1e9);
        found_number(x, "share_of_time_pct", s.share * 100);
        for (size_t row = 0; row < f->n_rows; row++)
                if (&askers->items[askers->of_row[row]] == maker)
                        f->is_claimed[row] = true;
}
