/* SPDX-License-Identifier: MIT */
/* Live bytes and resident memory over a window, in columns of equal width. */
#include "query/timeline.h"

#include "base/units.h"
#include "query/mapped_answer.h"
#include "query/pick.h"
#include "query/process_sum.h"
#include "query/query_internal.h"
#include "query/resident_sum.h"

static size_t timeline_column(const struct timeline *t, uint64_t time_ns) {
        size_t i;

        if (time_ns <= t->from_ns)
                return 0;
        if (time_ns >= t->to_ns)
                return t->n_columns - 1;
        i = (size_t)((__uint128_t)(time_ns - t->from_ns) * t->n_columns / (t->to_ns - t->from_ns));
        return MIN(i, t->n_columns - 1);
}

static void column_see(struct query_column *c, uint64_t live_bytes) {
        c->live_bytes = MAX(c->live_bytes, live_bytes);
        c->low_live_bytes = MIN(c->low_live_bytes, live_bytes);
}

void timeline_hold_until(struct timeline *t, uint64_t time_ns) {
        if (time_ns < t->time_ns)
                return;
        for (size_t i = timeline_column(t, t->time_ns), end = timeline_column(t, time_ns); i <= end;
             i++)
                column_see(&t->columns[i], t->level);
        t->time_ns = time_ns;
}

void timeline_step_to(struct timeline *t, uint64_t time_ns, uint64_t level) {
        timeline_hold_until(t, time_ns);
        t->level = level;
        column_see(&t->columns[timeline_column(t, t->time_ns)], level);
}

void timeline_slope_to(struct timeline *t, uint64_t time_ns, uint64_t level) {
        size_t first = timeline_column(t, t->time_ns),
               last = timeline_column(t, MAX(time_ns, t->time_ns));
        double from = (double)t->level, rise = (double)level - from;

        for (size_t i = first + 1; i < last; i++)
                column_see(&t->columns[i], unit_nearest(from + rise * (double)(i - first) /
                                                                       (double)(last - first)));
        t->time_ns = MAX(time_ns, t->time_ns);
        t->level = level;
        column_see(&t->columns[last], level);
}

/* The row of the scope among those of a slice; NULL when nothing changed. */
static const struct trace_counts *row_of_scope(const struct timeline *t,
                                               const struct trace_counts *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == t->scope->process)
                        return &rows[i];
        return t->scope->process == QUERY_ALL && n == 1 ? &rows[0] : NULL;
}

static bool in_scope(const struct timeline *t, const struct trace_event *e) {
        return query_event_process(t->q, e) == t->scope->process ||
               (t->scope->process == QUERY_ALL && t->q->view->n_processes == 1);
}

static int64_t event_change_bytes(const struct timeline *t, const struct trace_event *e) {
        if (!in_scope(t, e))
                return 0;
        switch ((enum trace_op)e->op) {
        case TRACE_ALLOC: return (int64_t)trace_event_bytes(e);
        case TRACE_REALLOC:
                return (int64_t)trace_event_bytes(e) - (int64_t)trace_event_old_bytes(e);
        case TRACE_FREE: return -(int64_t)trace_event_bytes(e);
        case TRACE_OTHER:
                return e->other == TRACE_IMPLICIT_FREE ? -(int64_t)trace_event_bytes(e) : 0;
        }
        return 0;
}

/* False when the events are too many, missing, or do not tell enough. */
static bool draw_events(struct timeline *t, const struct trace_slice_info *info, size_t slice_idx,
                        const struct trace_counts *row) {
        const struct trace_event *events;
        size_t n;
        int64_t level = (int64_t)t->level, inherited = (int64_t)row->live_bytes - level;

        /* Of all processes together the events alone do not tell: forks and ends change the sum. */
        if (info->n_events > t->n_events_left ||
            (t->scope->process == QUERY_ALL && t->q->view->n_processes > 1) ||
            !query_read_events(t->q, slice_idx, &events, &n))
                return false;
        t->n_events_left -= info->n_events;
        for (size_t i = 0; i < n; i++)
                inherited -= event_change_bytes(t, &events[i]);
        level += inherited; /* at a fork in this slice */
        for (size_t i = 0; i < n && events[i].time_ns < t->to_ns; i++) {
                int64_t change = event_change_bytes(t, &events[i]);

                level += change;
                if (events[i].time_ns < t->from_ns)
                        t->level = (uint64_t)MAX(level, 0);
                else if (change != 0)
                        timeline_step_to(t, events[i].time_ns, (uint64_t)MAX(level, 0));
        }
        timeline_hold_until(t, MIN(info->end_ns, t->to_ns));
        return true;
}

static void draw_slice(struct timeline *t, size_t slice_idx) {
        const struct trace_slice_info *info = trace_slice(t->q->reader, slice_idx);
        const struct trace_counts *rows, *row;
        uint64_t end_ns = MIN(info->end_ns, t->to_ns);
        struct err e = {0};
        size_t n;

        if (trace_read_counts(t->q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(t->q, &e);
                return;
        }
        row = row_of_scope(t, rows, n);
        if (!row) {
                timeline_hold_until(t, end_ns);
                return;
        }
        if (timeline_column(t, info->begin_ns) != timeline_column(t, info->end_ns) ||
            info->begin_ns < t->from_ns || info->end_ns > t->to_ns)
                if (draw_events(t, info, slice_idx, row))
                        return;
        if (row->peak_ns >= t->from_ns && row->peak_ns < t->to_ns && row->peak_bytes > t->level)
                timeline_slope_to(t, row->peak_ns, row->peak_bytes);
        timeline_slope_to(t, end_ns, row->live_bytes);
}

static void draw_slices(struct timeline *t, size_t slice_idx) {
        for (; slice_idx < t->q->view->n_slices; slice_idx++) {
                if (trace_slice(t->q->reader, slice_idx)->begin_ns >= t->to_ns)
                        break;
                draw_slice(t, slice_idx);
                if (!query_go_on(t->q, slice_idx + 1, t->q->view->n_slices))
                        break;
        }
}

/* ---- all processes together ------------------------------------------------------------------ */

struct together {
        struct timeline *t;
        struct process_sum sum;
};

/* Those who end before time_ns take their blocks with them. */
static void together_bury(struct together *g, uint64_t time_ns) {
        for (uint64_t end_ns; (end_ns = process_ends_next_ns(&g->sum.ends)) < time_ns;) {
                process_sum_bury(&g->sum, end_ns + 1);
                if (end_ns >= g->t->from_ns)
                        timeline_step_to(g->t, end_ns, (uint64_t)g->sum.bytes);
                g->t->level = (uint64_t)g->sum.bytes;
        }
}

static void together_step(void *ctx, const struct state *s, const struct replay_step *step) {
        struct together *g = ctx;

        (void)s;
        if (!step->is_heritage) /* else that is one step with the end of their owner */
                together_bury(g, step->time_ns);
        process_sum_step(&g->sum, step);
        if (step->time_ns >= g->t->from_ns)
                timeline_step_to(g->t, step->time_ns, (uint64_t)g->sum.bytes);
        g->t->level = (uint64_t)g->sum.bytes;
}

/* Whether all events of the window from the slice on are there, and no more than may be read. */
static bool can_read_events(const struct timeline *t, size_t slice_idx) {
        uint64_t n = 0;

        for (; slice_idx < t->q->view->n_slices; slice_idx++) {
                const struct trace_slice_info *info = trace_slice(t->q->reader, slice_idx);

                if (info->begin_ns >= t->to_ns)
                        break;
                if (info->n_events && !info->has_events)
                        return false;
                n += info->n_events;
        }
        return n <= t->n_events_left;
}

/* Replays every event of the window. */
static void draw_together(struct timeline *t, size_t slice_idx) {
        const struct replay_limits limits = {.before_ns = t->to_ns,
                                             .n_steps = UINT64_MAX,
                                             .skip_temporary = true};
        struct together g = {.t = t};
        struct state s;

        inherited_load(t->q);
        state_init(&s, t->q->view->n_processes, QUERY_ALL);
        state_fold(&s);
        state_load(t->q, &s, slice_idx);
        process_sum_init(&g.sum, t->q, &s, t->time_ns);
        t->level = (uint64_t)g.sum.bytes;
        for (; slice_idx < t->q->view->n_slices; slice_idx++) {
                if (trace_slice(t->q->reader, slice_idx)->begin_ns >= t->to_ns)
                        break;
                replay_slice(t->q, &s, slice_idx, &limits, together_step, &g);
                state_join_ended(t->q, &s, trace_slice(t->q->reader, slice_idx)->end_ns);
                if (!query_go_on(t->q, slice_idx + 1, t->q->view->n_slices))
                        break;
        }
        together_bury(&g, t->to_ns);
        process_sum_done(&g.sum);
        state_done(&s);
}

/* The level when the first slice of the window begins. */
static uint64_t level_before(struct timeline *t, size_t slice_idx) {
        const struct trace_counts *rows;
        struct err e = {0};

        while (slice_idx-- > 0 && query_go_on(t->q, 0, t->q->view->n_slices)) {
                const struct trace_counts *row;
                size_t n;

                if (trace_read_counts(t->q->reader, slice_idx, &rows, &n, &e) < 0)
                        continue;
                row = row_of_scope(t, rows, n);
                if (row)
                        return row->live_bytes;
        }
        return 0;
}

/* ---- resident memory ------------------------------------------------------------------------- */

/* The line of resident memory, as far as it is drawn. */
struct resident_line {
        struct resident_sum sum;
        size_t column; /* it has come to here; SIZE_MAX before the first sample */
};

static void column_resident(struct query_column *c, uint64_t bytes) {
        c->rss_bytes = MAX(c->rss_bytes, bytes);
        c->has_rss = true;
}

static void line_hold(struct timeline *t, struct resident_line *l, size_t column, uint64_t bytes) {
        if (l->column == SIZE_MAX)
                return;
        for (size_t i = l->column; i <= column; i++)
                column_resident(&t->columns[i], bytes);
        l->column = MAX(l->column, column);
}

/* Between two samples the line goes straight from one to the other, but where a process ends it falls at once. */
static void line_end(struct timeline *t, struct resident_line *l, uint64_t time_ns) {
        uint64_t before, end_ns;

        resident_sum_settle(&l->sum);
        before = query_resident_bytes(&l->sum.all);
        while (resident_sum_end(&l->sum, time_ns, &end_ns)) {
                if (end_ns >= t->from_ns)
                        line_hold(t, l, timeline_column(t, end_ns), before);
                before = query_resident_bytes(&l->sum.all);
        }
}

static void line_draw(struct timeline *t, struct resident_line *l, size_t column, uint64_t before) {
        uint64_t bytes = query_resident_bytes(&l->sum.all);

        for (size_t i = l->column + 1; l->column != SIZE_MAX && i < column; i++) {
                double share = (double)(i - l->column) / (double)(column - l->column);

                column_resident(&t->columns[i],
                                unit_nearest((double)before +
                                             share * ((double)bytes - (double)before)));
        }
        column_resident(&t->columns[column], bytes);
        l->column = column;
}

/* One process has no resident memory when it has ended. */
static size_t last_resident_column(const struct timeline *t) {
        return timeline_column(t, t->scope->process == QUERY_ALL
                                          ? t->to_ns
                                          : query_process_gone_ns(t->q, t->scope->process));
}

static int draw_samples(struct timeline *t, struct err *reterr) {
        struct resident_line l = {.column = SIZE_MAX};
        const struct trace_sample *s;
        size_t n;
        int r;

        if (t->scope->process != QUERY_ALL &&
            query_process_gone_ns(t->q, t->scope->process) < t->from_ns)
                return 0;
        resident_sum_init(&l.sum, t->q, t->scope->process);
        r = trace_read_samples(t->q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n && s[i].time_ns < t->to_ns; i++) {
                uint64_t before;

                line_end(t, &l, s[i].time_ns);
                before = query_resident_bytes(&l.sum.all);
                if (!resident_sum_take(&l.sum, &s[i]))
                        continue;
                if (s[i].time_ns < t->from_ns)
                        l.column = 0; /* where it stood when the window began */
                else
                        line_draw(t, &l, timeline_column(t, s[i].time_ns), before);
        }
        if (t->scope->process == QUERY_ALL)
                line_end(t, &l, t->to_ns);
        if (l.column != SIZE_MAX)
                line_hold(t, &l, last_resident_column(t), query_resident_bytes(&l.sum.all));
        resident_sum_done(&l.sum);
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void draw_all(struct timeline *t) {
        struct query *q = t->q;
        size_t slice_idx = query_slice_at(q, t->from_ns);

        t->level = level_before(t, slice_idx);
        t->time_ns = slice_idx < q->view->n_slices
                             ? MAX(trace_slice(q->reader, slice_idx)->begin_ns, t->from_ns)
                             : t->from_ns;
        if (t->scope->process == QUERY_ALL && q->view->n_processes > 1 &&
            can_read_events(t, slice_idx))
                draw_together(t, slice_idx);
        else
                draw_slices(t, slice_idx);
}

int query_timeline(struct query *q, const struct query_scope *scope, size_t n_columns,
                   uint64_t max_events, struct query_column *ret_columns, struct err *reterr) {
        struct timeline t = {.q = q,
                             .scope = scope,
                             .columns = ret_columns,
                             .n_columns = n_columns,
                             .from_ns = scope->from_ns,
                             .to_ns = MIN(scope->to_ns, q->view->end_ns),
                             .n_events_left = max_events};
        const struct pick *pick;
        int r = pick_get(q, scope->filter, &pick, reterr);

        if (r < 0 || n_columns == 0)
                return r;
        t.to_ns = MAX(t.to_ns, t.from_ns + 1);
        for (size_t i = 0; i < n_columns; i++) {
                uint64_t span_ns = t.to_ns - t.from_ns;

                ret_columns[i] = (struct query_column){
                        .begin_ns = t.from_ns + (uint64_t)((__uint128_t)span_ns * i / n_columns),
                        .end_ns =
                                t.from_ns + (uint64_t)((__uint128_t)span_ns * (i + 1) / n_columns),
                        .low_live_bytes = UINT64_MAX};
        }
        if (scope->of_mappings)
                r = mapped_draw(&t, pick, reterr);
        else if (pick)
                r = timeline_draw_picked(&t, pick, reterr);
        else
                draw_all(&t);
        if (r < 0)
                return r;
        r = query_end(q, reterr);
        if (r < 0)
                return r;
        timeline_hold_until(&t, t.to_ns);
        for (size_t i = 0; i < n_columns; i++)
                ret_columns[i].low_live_bytes =
                        MIN(ret_columns[i].low_live_bytes, ret_columns[i].live_bytes);
        return draw_samples(&t, reterr);
}
