/* SPDX-License-Identifier: MIT */
/* The next step of a finding, and what it will show. It is asked here, as the step will ask it, and the text has that
 * number: one fact, one number, whoever tells it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "finding/rules.h"
#include "query/spent_time.h"
#include "query/through.h"

/* From so much on, of its share behind the warm-up, the share of all that came is as good, and easier to ask for. */
#define PROMISE_SAME_SHARE 0.9
#define PROMISE_START_SHARE 0.1
/* The command shows so many times what the finding is about: other call paths of the function grow as well. */
#define PROMISE_MORE 1.1

struct request_step *next_view(struct facts *f, enum request_shape shape, enum query_metric by) {
        struct request_step *s = calloc(1, sizeof(*s));

        if (!s)
                abort();
        s->request = request_copy(f->source->request);
        s->request.shape = shape;
        s->request.group_by = QUERY_BY_FUNCTION;
        s->request.has_metric = true;
        s->request.metric = by;
        vec_push(&f->steps, s);
        return s;
}

struct request_step *next_callers(struct facts *f, const struct name_frame *frame,
                                  enum query_metric by) {
        struct request_step *s = next_view(f, REQUEST_CALLERS, by);
        struct finding *x = &f->found.items[f->found.n - 1];

        x->shows = (struct finding_shows){.function = place_option(f, frame), .by = by};
        s->request.function = strdup(x->shows.function);
        if (!s->request.function)
                abort();
        return s;
}

/* A time as people type it, to a part of what matters; downwards. */
static uint64_t round_ns(uint64_t ns, uint64_t part_ns) {
        uint64_t step = 1;

        while (step * 10 <= part_ns)
                step *= 10;
        return ns - ns % step;
}

/* Behind the warm-up, and behind the start of the program: libraries have set themselves up by then. */
static size_t first_of(const struct facts *f, const struct growth *g) {
        return MIN(MAX(g->trend.begin_idx, facts_column_of_time(f, PROMISE_START_SHARE)),
                   g->end_idx - 1);
}

/* Whether most of what there was before is others': then only the time behind it tells who grows. */
static bool is_late(const struct facts *f, const struct course *c, const struct growth *g) {
        size_t begin = first_of(f, g), last = g->end_idx - 1;
        double all = (double)f->total.bytes[last] - (double)f->source->answer->totals.begin_bytes;
        double late = course_gain(f->total.bytes, begin, last);

        return begin > 0 && all > 0 && late > 0 &&
               (double)c->bytes[last] / all <
                       PROMISE_SAME_SHARE * course_gain(c->bytes, begin, last) / late;
}

struct request_step *next_growth(struct facts *f, const struct name_frame *frame,
                                 const struct course *c, const struct growth *g) {
        const struct query_scope *scope = &f->source->answer->scope;
        uint64_t begin_ns = f->h->at_ns[first_of(f, g)], last_ns = f->h->at_ns[g->end_idx - 1];
        uint64_t span_ns = last_ns - MIN(last_ns, begin_ns);
        uint64_t from_ns = scope->from_ns, to_ns = scope->to_ns;
        /* What is torn down was the peak: no window needs to be typed. */
        bool is_peak = g->is_released && !is_late(f, c, g) &&
                       f->totals->peak_ns >= f->h->at_ns[MAX(g->end_idx, 2u) - 2];
        struct request_step *next = next_callers(f, frame, is_peak ? QUERY_PEAK : QUERY_GROWTH);
        struct finding_shows *s = &f->found.items[f->found.n - 1].shows;

        s->is_growth = true;
        if (is_peak)
                return next;
        if (is_late(f, c, g) && round_ns(begin_ns, span_ns / 100) > from_ns)
                s->since_ns = from_ns = round_ns(begin_ns, span_ns / 100);
        if (g->is_released && round_ns(last_ns, span_ns / 10000) > from_ns)
                to_ns = round_ns(last_ns, span_ns / 10000);
        s->is_windowed = from_ns != scope->from_ns || to_ns != scope->to_ns;
        if (!s->is_windowed)
                return next;
        s->from_ns = from_ns;
        s->to_ns = to_ns;
        next->is_window_new = true;
        request_set_time(&next->request.from, from_ns ? from_ns : UINT64_MAX);
        request_set_time(&next->request.to, to_ns < query_view(f->q)->end_ns ? to_ns : UINT64_MAX);
        return next;
}

/* ---- what it will show ----------------------------------------------------------------------- */

/* False: it cannot be asked, and nothing is promised. */
static bool look_up(struct facts *f, struct finding_shows *s) {
        _cleanup_(query_answer_freep) struct query_answer *own = NULL;
        const struct query_answer *a = f->source->answer;
        struct query_scope scope = a->scope;
        struct query_figures total;
        struct err err = {0};

        scope.of_mappings = s->by == QUERY_MAPPED;
        scope.of_time = query_metric_time(s->by);
        if (s->is_windowed) {
                scope.from_ns = s->from_ns;
                scope.to_ns = s->to_ns;
        }
        if (s->is_windowed || scope.of_mappings || scope.of_time) {
                if (query_ask(f->q, &scope, &own, &err) < 0)
                        return false;
                a = own;
        }
        if (query_through(f->q, a, s->function, s->by, &total, &err) < 0)
                return false;
        s->value = query_figure_of(&total, s->by).value;
        s->whole = query_metric_whole(&a->totals, s->by);
        return true;
}

static bool is_count(enum query_metric m) {
        return m == QUERY_COUNT || m == QUERY_TEMPORARY;
}

/* The sentence without its full stop. */
static const char *open_end(struct facts *f, const char *text) {
        size_t n = strlen(text);

        return n && text[n - 1] == '.' ? arena_strndup(f->arena, text, n - 1) : text;
}

static const char *say_since(struct facts *f, const struct finding_shows *s) {
        return s->since_ns ? say(f, " since %s", say_moment(f, (double)s->since_ns / 1e9)) : "";
}

static bool is_part(const struct finding *x) {
        return (double)x->shows.value > PROMISE_MORE * x->bytes;
}

/* Growth is what was gained less what others gave up: of little left of it one may have had many times as much, which is no share. */
#define MAX_SHARE_PCT 101

/* The share that the command will tell; of what is said before it: behind the finding's own bytes, or behind those of all call paths. */
static void tell_share(struct facts *f, struct finding *x) {
        struct finding_shows *s = &x->shows;
        double pct = s->whole ? 100.0 * (double)s->value / (double)s->whole : 0;
        bool is_of_all = is_part(x);
        struct unit_text t;

        const char *all = "";

        if (pct < MAX_SHARE_PCT)
                found_number(x, "share_of_growth_pct", MIN(pct, 100.0));
        if (pct < 1)
                return;
        if (is_of_all)
                all = say(f, ". All call paths through it %s %s",
                          s->by == QUERY_PEAK ? "held" : "grew by",
                          unit_bytes(&t, (uint64_t)s->value));
        if (pct >= MAX_SHARE_PCT)
                x->text = say(f, "%s%s.", open_end(f, x->text), all);
        else
                x->text = say(f, "%s%s%u %% of %s%s.", open_end(f, x->text),
                              is_of_all ? say(f, "%s, ", all) : "; ",
                              pct > 99 && pct < 100 ? 99 : (unsigned)unit_nearest(MIN(pct, 100.0)),
                              s->by == QUERY_PEAK ? "the peak" : "all growth", say_since(f, s));
}

/* Where the text has another number, because it is about a part of what the function has, it gets this one too. */
static void tell_value(struct facts *f, struct finding *x) {
        struct finding_shows *s = &x->shows;
        struct unit_text t;

        if (s->value <= 0)
                return;
        if (is_count(s->by))
                unit_count(&t, (uint64_t)s->value);
        else if (query_metric_time(s->by))
                unit_duration(&t, (uint64_t)s->value);
        else
                unit_bytes(&t, (uint64_t)s->value);
        if (strstr(x->text, t.s))
                return;
        if (query_metric_time(s->by))
                x->text = say(f, "%s All call paths through it: %s.", x->text, t.s);
        else if (s->by == QUERY_GROWTH)
                x->text = say(f, "%s In all it grew by %s%s.", x->text, t.s, say_since(f, s));
        else
                x->text = say(f, "%s All call paths through it: %s%s.", x->text, t.s,
                              s->by == QUERY_COUNT       ? " allocations"
                              : s->by == QUERY_TEMPORARY ? " temporary allocations"
                                                         : "");
}

/* Behind all figures: what they do not show. */
static void tell_doubt(struct facts *f, struct finding *x) {
        struct unit_text t;

        if (!x->is_too_short)
                return;
        if (x->lost_bytes) {
                x->text = say(f, "%s Nothing points to %s of it any more.", x->text,
                              unit_bytes(&t, x->lost_bytes));
                found_number(x, "lost_bytes", (double)x->lost_bytes);
                return;
        }
        x->text = say(f, "%s %s are too short to tell a leak from a cache that fills.", x->text,
                      unit_duration(&t, unit_nearest(f->at_s[f->n_columns - 1] * 1e9)));
        found_number(x, "is_too_short", 1);
}

void promises_keep(struct facts *f, struct findings *found) {
        for (size_t i = 0; i < found->n; i++) {
                struct finding *x = &found->items[i];

                if (!x->is_note && x->shows.function && look_up(f, &x->shows)) {
                        x->shows.is_known = true;
                        if (x->shows.is_growth)
                                tell_share(f, x);
                        tell_value(f, x);
                }
                tell_doubt(f, x);
        }
}
