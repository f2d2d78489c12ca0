/* SPDX-License-Identifier: MIT */
#include "diff/diff_words.h"

#include <math.h>
#include <string.h>

#include "name/stable.h"
#include "query/spent_time.h"
#include "query/trace_times.h"
#include "show/frame.h"
#include "show/process_holders.h"

enum {
        WORDS_MANIFOLD_PCT = 1000, /* from here on growth is told as a factor */
        WORDS_ALONE_PCT = 60,      /* of the whole change: one function has "alone" made it */
};

static bool counts(const struct diff *d) {
        return d->metric == QUERY_COUNT || d->metric == QUERY_TEMPORARY;
}

/* ---- figures --------------------------------------------------------------------------------- */

const char *words_value(const struct diff *d, double v, struct words *w) {
        uint64_t n = unit_nearest(fabs(v));
        struct unit_text t;

        snprintf(w->s, sizeof(w->s), "%s%s%s", v < 0 && n ? "-" : "",
                 counts(d) ? unit_count(&t, n) : unit_weight(&t, n),
                 diff_request(d->options)->per_second ? "/s" : "");
        return w->s;
}

const char *words_change(const struct diff *d, double v, struct words *w) {
        struct words plain;

        words_value(d, fabs(v), &plain);
        snprintf(w->s, sizeof(w->s), "%s%.40s", v < 0 ? "-" : "+", plain.s);
        return w->s;
}

const char *words_percent(double old, double new, struct words *w) {
        double pct = old != 0 ? 100 * (new - old) / fabs(old) : 0;
        struct unit_text n;

        w->s[0] = '\0';
        if (old == 0)
                return w->s;
        if (pct >= WORDS_MANIFOLD_PCT && new < 1e6 * old)
                snprintf(w->s, sizeof(w->s), "x %s", unit_count(&n, unit_nearest(new / old)));
        else if (pct >= WORDS_MANIFOLD_PCT)
                snprintf(w->s, sizeof(w->s), "x 10^6");
        else if (pct != 0 && fabs(pct) < 0.95)
                snprintf(w->s, sizeof(w->s), "%+.1f %%", pct);
        else if (new != 0 && pct > -100 && pct < -99.4) /* something is left */
                snprintf(w->s, sizeof(w->s), "%+.1f %%", fmax(pct, -99.9));
        else
                snprintf(w->s, sizeof(w->s), "%+.0f %%", pct);
        if (strcmp(w->s, "+0.0 %") == 0 || strcmp(w->s, "-0.0 %") == 0 ||
            strcmp(w->s, "+0 %") == 0 || strcmp(w->s, "-0 %") == 0)
                snprintf(w->s, sizeof(w->s), "0 %%");
        return w->s;
}

void words_add_state(const struct diff *d, struct str *to) {
        const char *a_second = diff_request(d->options)->per_second ? " per second" : "";
        bool is_at = d->sides[NAME_NEW].resolved.is_at;

        if (unit_weights() != UNIT_BYTES && !query_metric_time(d->metric)) {
                str_add(to, unit_weight_name());
                return;
        }
        switch (d->metric) {
        case QUERY_PEAK: str_add(to, "live at the peak"); break;
        case QUERY_END:
                str_add(to, is_at                                   ? "live at that moment"
                            : side_is_windowed(&d->sides[NAME_NEW]) ? "live at the window's end"
                                                                    : "still allocated at the end");
                break;
        case QUERY_ALLOCATED: str_addf(to, "bytes allocated%s", a_second); break;
        case QUERY_COUNT: str_addf(to, "allocations%s", a_second); break;
        case QUERY_TEMPORARY: str_addf(to, "temporary allocations%s", a_second); break;
        case QUERY_GROWTH: str_addf(to, "growth of live bytes%s", a_second); break;
        case QUERY_CPU: str_addf(to, "CPU time%s", a_second); break;
        case QUERY_BLOCKED: str_addf(to, "time blocked%s", a_second); break;
        case QUERY_MAPPED:
                str_addf(to, "mapped by the program itself%s", is_at ? " at that moment" : "");
                break;
        case QUERY_N_METRICS: break;
        }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void add_name(const struct diff *d, enum name_side side, uint32_t stack, bool full,
                     bool utf8, struct str *to) {
        struct frame_stack x = {0};

        frame_stack_fill(&x, &d->sides[side].frames, stack, false);
        if (x.shown.n == 0)
                str_add(to, "(no stack)");
        else
                frame_add_function(to, &d->sides[side].frames,
                                   &x.frames.items[x.shown.items[0].frame_idx],
                                   x.shown.items[0].is_task, full, utf8);
        frame_stack_done(&x);
}

/* Of code without a name nothing is left to compare in another build but its module. */
static bool is_nameless(const struct diff *d, const struct diff_row *row, struct str *module) {
        enum name_side side = diff_told_side(row);
        const struct name_frame *f = NULL;
        struct frame_stack x = {0};

        frame_stack_fill(&x, &d->sides[side].frames, row->stacks[side], false);
        if (x.shown.n)
                f = &x.frames.items[x.shown.items[0].frame_idx];
        if (f && (!f->function[0] || f->guess))
                style_add_clean(module, f->module[0] ? frame_base(f->module) : "no module");
        else
                f = NULL;
        frame_stack_done(&x);
        return f != NULL;
}

static bool had_another_name(const struct diff *d, const struct diff_row *row, bool utf8,
                             struct str *old) {
        struct str new = {0}, a = {0}, b = {0};
        bool is_so;

        if (!row->has[NAME_OLD] || !row->has[NAME_NEW])
                return false;
        add_name(d, NAME_OLD, row->stacks[NAME_OLD], false, utf8, old);
        add_name(d, NAME_NEW, row->stacks[NAME_NEW], false, utf8, &new);
        stable_add_function(&a, str_text(old));
        stable_add_function(&b, str_text(&new));
        is_so = strcmp(str_text(&a), str_text(&b)) != 0;
        str_done(&new);
        str_done(&a);
        str_done(&b);
        return is_so;
}

void words_add_function(const struct diff *d, const struct diff_row *row, bool full, bool utf8,
                        struct str *to) {
        enum name_side side = diff_told_side(row);
        struct str module = {0}, old = {0};

        if (is_nameless(d, row, &module) && had_another_name(d, row, utf8, &old))
                str_addf(to, "code without a name in %s", str_text(&module));
        else
                add_name(d, side, row->stacks[side], full, utf8, to);
        str_done(&module);
        str_done(&old);
}

void words_add_place(const struct diff *d, const struct diff_row *row, bool full, struct str *to) {
        enum name_side side = diff_told_side(row);
        struct frame_stack x = {0};

        frame_stack_fill(&x, &d->sides[side].frames, row->stacks[side], false);
        if (x.shown.n)
                frame_add_place(to, &x.frames.items[x.shown.items[0].frame_idx], full);
        frame_stack_done(&x);
}

void words_add_old_name(const struct diff *d, const struct diff_row *row, bool utf8,
                        struct str *to) {
        struct str old = {0}, module = {0};

        if (had_another_name(d, row, utf8, &old) && !is_nameless(d, row, &module))
                str_addf(to, ", was %s", str_text(&old));
        str_done(&old);
        str_done(&module);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* "peaks at 62.8 MiB" */
static void add_total(const struct diff *d, enum name_side side, struct str *to) {
        const char *a_second = diff_request(d->options)->per_second ? " per second" : "";
        struct unit_text t, when;
        double v = diff_total(d, side);
        uint64_t n = unit_nearest(fabs(v));

        if (counts(d))
                unit_count(&t, n);
        else
                unit_weight(&t, n);
        if (unit_weights() != UNIT_BYTES && !query_metric_time(d->metric)) {
                str_addf(to, "has %s%s", t.s, a_second);
                return;
        }
        switch (d->metric) {
        case QUERY_PEAK: str_addf(to, "peaks at %s", t.s); break;
        case QUERY_END:
                if (d->sides[side].to_ns < d->sides[side].v->end_ns)
                        str_addf(to, "holds %s at %s", t.s,
                                 query_moment_text(d->sides[side].q, &when, d->sides[side].to_ns));
                else if (d->sides[side].answer->totals.lacks_peak) /* of one moment */
                        str_addf(to, "holds %s", t.s);
                else
                        str_addf(to, "leaves %s at the end", t.s);
                break;
        case QUERY_ALLOCATED: str_addf(to, "allocates %s%s", t.s, a_second); break;
        case QUERY_COUNT: str_addf(to, "makes %s allocations%s", t.s, a_second); break;
        case QUERY_TEMPORARY:
                str_addf(to, "makes %s temporary allocations%s", t.s, a_second);
                break;
        case QUERY_GROWTH:
                str_addf(to, "%s by %s%s", v < 0 ? "shrinks" : "grows", t.s, a_second);
                break;
        case QUERY_CPU: str_addf(to, "uses %s of CPU time%s", t.s, a_second); break;
        case QUERY_BLOCKED: str_addf(to, "is blocked for %s%s", t.s, a_second); break;
        case QUERY_MAPPED:
                str_addf(to, "maps %s itself", t.s);
                if (d->sides[side].resolved.is_at)
                        str_addf(to, " at %s",
                                 query_moment_text(d->sides[side].q, &when, d->sides[side].to_ns));
                break;
        case QUERY_N_METRICS: break;
        }
}

/* "Cache::insert grew by 11.9 MiB" */
static void add_mover(const struct diff *d, const struct style *s, const struct diff_row *row,
                      const char *alone, struct str *to) {
        double change = diff_change(d, row);
        struct words w;

        words_add_function(d, row, false, s->utf8, to);
        words_value(d, fabs(change), &w);
        switch (diff_status_of(d, row)) {
        case DIFF_NEW: str_addf(to, " is new with %s", w.s); break;
        case DIFF_GONE: str_addf(to, ", %s, is gone", w.s); break;
        default: str_addf(to, "%s %s by %s", alone, change < 0 ? "shrank" : "grew", w.s); break;
        }
}

static const struct diff_row *first_mover(const struct diff *d) {
        const struct diff_row *row = d->functions.n ? &d->functions.items[0] : NULL;

        return row && diff_row_is_noted(d, row) ? row : NULL;
}

static void add_movers(const struct diff *d, const struct style *s, bool total_moved,
                       struct str *to) {
        const struct diff_row *first = first_mover(d), *second;
        double total = diff_total_change(d);
        bool is_alone;

        if (!first)
                return;
        is_alone = total_moved && total * diff_change(d, first) > 0 &&
                   fabs(diff_change(d, first)) * 100 >= fabs(total) * WORDS_ALONE_PCT;
        str_add(to, total_moved ? "; " : ", but ");
        add_mover(d, s, first, is_alone ? " alone" : "", to);
        second = d->functions.n > 1 ? &d->functions.items[1] : NULL;
        if (!is_alone && second && diff_row_is_noted(d, second)) {
                str_add(to, " and ");
                add_mover(d, s, second, "", to);
        }
}

static void add_limit(const struct diff *d, struct str *to) {
        struct words w;

        if (d->limit <= 0)
                return;
        if (d->options->min_change_bytes != UINT64_MAX)
                str_addf(to, " above %s", words_value(d, d->limit, &w));
        else
                str_addf(to, " above %g %%", d->options->min_change_pct);
}

static void add_no_difference(const struct diff *d, struct str *to) {
        bool is_equal = diff_total_change(d) == 0;

        str_add(to, "No difference");
        add_limit(d, to);
        str_add(to, ": NEW ");
        add_total(d, NAME_NEW, to);
        if (is_equal) {
                str_addf(to, ", as OLD %s.", d->metric == QUERY_BLOCKED ? "is" : "does");
                return;
        }
        str_add(to, ", OLD ");
        add_total(d, NAME_OLD, to);
        if (d->total_is_chance)
                str_add(to,
                        query_metric_time(d->metric)
                                ? ", which is within what samples can be wrong by"
                                : ", which is chance: both did the same work and fluctuate by more");
        str_add(to, ".");
}

/* Of several processes the one that holds most comes first. */
static void add_crowd(const struct diff *d, struct str *to) {
        const struct diff_side *s = &d->sides[NAME_NEW];
        struct str crowd = {0};

        if (holder_add_crowd(s->q, s->answer, &crowd))
                str_addf(to, "In %s, ", str_text(&crowd));
        str_done(&crowd);
}

void words_add_verdict(const struct diff *d, const struct style *s, struct str *to) {
        double old = diff_total(d, NAME_OLD), new = diff_total(d, NAME_NEW), change = new - old;
        bool total_moved = diff_total_is_noted(d);
        struct words w, pct;

        if (!diff_is_found(d)) {
                add_no_difference(d, to);
                return;
        }
        add_crowd(d, to);
        str_add(to, "NEW ");
        add_total(d, NAME_NEW, to);
        if (total_moved) {
                str_addf(to, ", %s %s than OLD", words_value(d, fabs(change), &w),
                         change > 0 ? "more" : "less");
                words_percent(old, new, &pct);
                if (pct.s[0])
                        str_addf(to, " (%s)", pct.s);
        } else {
                str_addf(to, ", %sas OLD %s", change == 0 ? "" : "about ",
                         d->metric == QUERY_BLOCKED ? "is" : "does");
        }
        add_movers(d, s, total_moved, to);
        str_add(to, ".");
}

/* ---- other metrics --------------------------------------------------------------------------- */

enum {
        WORDS_OTHER_PCT = 5, /* a metric that was not asked for is told from here on … */
        WORDS_OTHER_BYTES = 65536,
        WORDS_OTHER_COUNT = 1000, /* … and these */
        WORDS_ALIKE_PCT = 10,     /* flows, if the windows' lengths differ by no more */
};

/* Where no length is known, none excuses a difference. */
static bool lengths_are_alike(const struct diff *d) {
        double a = (double)side_duration_ns(&d->sides[NAME_OLD]);
        double b = (double)side_duration_ns(&d->sides[NAME_NEW]);

        if (d->sides[NAME_OLD].answer->totals.lacks_time ||
            d->sides[NAME_NEW].answer->totals.lacks_time)
                return true;
        return fabs(a - b) * 100 <= fmin(a, b) * WORDS_ALIKE_PCT;
}

static bool lacks_blocks(const struct diff *d) {
        return d->sides[NAME_OLD].answer->totals.lacks_blocks ||
               d->sides[NAME_NEW].answer->totals.lacks_blocks;
}

static bool lacks_traffic(const struct diff *d) {
        return d->sides[NAME_OLD].answer->totals.lacks_traffic ||
               d->sides[NAME_NEW].answer->totals.lacks_traffic;
}

static bool lacks_peak(const struct diff *d) {
        return d->sides[NAME_OLD].answer->totals.lacks_peak ||
               d->sides[NAME_NEW].answer->totals.lacks_peak;
}

static bool lacks_live(const struct diff *d) {
        return d->sides[NAME_OLD].answer->totals.lacks_live ||
               d->sides[NAME_NEW].answer->totals.lacks_live;
}

static bool lacks_events(const struct diff *d) {
        return d->sides[NAME_OLD].answer->totals.lacks_events ||
               d->sides[NAME_NEW].answer->totals.lacks_events;
}

static bool is_unknown(const struct diff *d, enum query_metric m) {
        switch (m) {
        case QUERY_PEAK: return lacks_peak(d);
        case QUERY_END: return lacks_live(d);
        case QUERY_COUNT:
        case QUERY_ALLOCATED: return lacks_blocks(d) || lacks_traffic(d);
        case QUERY_TEMPORARY: return lacks_events(d);
        default: return false;
        }
}

void words_add_others(const struct diff *d, struct str *to) {
        static const struct {
                enum query_metric metric;
                const char *name;
        } others[] = {{QUERY_PEAK, "the peak"},
                      {QUERY_END, "what is left at the end"},
                      {QUERY_ALLOCATED, "bytes allocated"},
                      {QUERY_COUNT, "allocations"},
                      {QUERY_TEMPORARY, "temporary allocations"}};
        size_t n = 0;

        if (unit_weights() != UNIT_BYTES || d->metric == QUERY_MAPPED)
                return;
        if (d->sides[NAME_NEW].resolved.is_at) /* all but what is live there is from before */
                return;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                if (is_unknown(d, others[i].metric))
                        continue;
                struct diff other = {.metric = others[i].metric,
                                     .sides = {d->sides[NAME_OLD], d->sides[NAME_NEW]},
                                     .scale = {1, 1}};
                double old = diff_total(&other, NAME_OLD), new = diff_total(&other, NAME_NEW);
                double least = counts(&other) ? WORDS_OTHER_COUNT : WORDS_OTHER_BYTES;
                bool is_flow = other.metric != QUERY_PEAK && other.metric != QUERY_END;
                struct words pct;

                if (other.metric == d->metric || fabs(new - old) < least ||
                    fabs(new - old) * 100 < fmax(old, new) * WORDS_OTHER_PCT ||
                    (is_flow && (diff_request(d->options)->per_second || !lengths_are_alike(d))))
                        continue;
                words_percent(old, new, &pct);
                str_addf(to, "%s %s (%s, --by %s)", n++ ? "," : "Besides:", others[i].name,
                         pct.s[0] ? pct.s : "from 0", query_metric_name(other.metric));
        }
        str_add(to, n ? ". " : "");
}
