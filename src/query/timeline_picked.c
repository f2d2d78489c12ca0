/* SPDX-License-Identifier: MIT */
/* Live bytes over time of the blocks a filter selects. From events where they may be read (conditions on single blocks always
 * read them): exact. Else from the rows of slices: what is live at each slice's end and when the process peaked in it. */
#include "query/chosen.h"
#include "query/pick.h"
#include "query/query_internal.h"
#include "query/site_state.h"
#include "query/timeline.h"

struct drawing {
        struct timeline *t;
        const struct pick *pick;
        const struct chosen *chosen; /* NULL: the stack decides */
        int64_t *bytes;              /* live of each process; all together: its own */
        int64_t level;               /* of the processes in scope that have not ended */
        bool *is_dead;
        uint64_t next_end_ns; /* all together: earliest end of those alive */
        int64_t inherited;    /* one process: what it begins with, while it has not begun */
};

static bool is_all(const struct drawing *d) {
        return d->t->scope->process == QUERY_ALL;
}

static void drawing_init(struct drawing *d, struct timeline *t, const struct pick *pick) {
        size_t n = t->q->view->n_processes;

        *d = (struct drawing){.t = t, .pick = pick, .next_end_ns = UINT64_MAX};
        d->bytes = calloc(n + 1, sizeof(d->bytes[0]));
        d->is_dead = calloc(n + 1, sizeof(d->is_dead[0]));
        if (!d->bytes || !d->is_dead)
                abort();
}

static void drawing_done(struct drawing *d) {
        free(d->bytes);
        free(d->is_dead);
}

/* ---- where the line begins ------------------------------------------------------------------- */

/* The processes that ended before the window hold nothing in it. */
static void drawing_begin(struct drawing *d) {
        for (uint32_t p = 0; p < d->t->q->view->n_processes; p++) {
                uint64_t end_ns = query_process_gone_ns(d->t->q, p);

                d->is_dead[p] = is_all(d) && end_ns < d->t->from_ns;
                if (d->is_dead[p])
                        continue;
                d->level += d->bytes[p];
                if (is_all(d))
                        d->next_end_ns = MIN(d->next_end_ns, end_ns);
        }
        d->t->time_ns = d->t->from_ns;
        d->t->level = (uint64_t)MAX(d->level, 0);
}

static bool site_is_picked(const struct drawing *d, const struct state_site *site) {
        return (is_all(d) || site->process == d->t->scope->process) &&
               pick_has_stack(d->pick, site->stack) && pick_has_process(d->pick, site->process);
}

static void begin_from_history(struct drawing *d) {
        struct query *q = d->t->q;
        struct state begin;

        if (is_all(d))
                inherited_load(q);
        state_init(&begin, q->view->n_processes, d->t->scope->process);
        if (d->t->from_ns > 0)
                state_load_time(q, &begin, d->t->from_ns);
        for (size_t i = 0; i < begin.sites.n; i++) {
                const struct state_site *site = &begin.sites.items[i];

                if (site_is_picked(d, site))
                        d->bytes[site->process] += is_all(d) ? state_site_own_bytes(site)
                                                             : state_site_live_bytes(site);
        }
        state_done(&begin);
        drawing_begin(d);
}

struct choosing {
        struct chosen *chosen;
        const struct query_scope *scope;
};

static bool choose_life(void *ctx, const struct query_life *l) {
        const struct choosing *c = ctx;

        chosen_add(c->chosen, l, c->scope);
        return true;
}

static int begin_from_lives(struct drawing *d, struct err *reterr) {
        struct query *q = d->t->q;

        d->chosen = chosen_find(q, d->t->scope);
        if (!d->chosen) {
                struct choosing c = {chosen_begin(q), d->t->scope};
                int r = life_scan(q, d->t->scope, LIFE_NO_PEAK, choose_life, &c, NULL, reterr);

                if (r < 0)
                        return r;
                chosen_end(c.chosen, d->t->scope);
                d->chosen = c.chosen;
        }
        for (uint32_t p = 0; p < q->view->n_processes; p++)
                d->bytes[p] = d->chosen->begin_bytes[p];
        d->inherited = d->chosen->inherited;
        drawing_begin(d);
        return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void drawing_step(struct drawing *d, uint64_t time_ns) {
        if (time_ns >= d->t->from_ns)
                timeline_step_to(d->t, time_ns, (uint64_t)MAX(d->level, 0));
}

/* Those who end before time_ns take their blocks with them. */
static void drawing_bury(struct drawing *d, uint64_t time_ns, bool is_seen) {
        while (d->next_end_ns < time_ns) {
                uint64_t now_ns = d->next_end_ns;

                d->next_end_ns = UINT64_MAX;
                for (uint32_t p = 0; p < d->t->q->view->n_processes; p++) {
                        uint64_t end_ns = query_process_gone_ns(d->t->q, p);

                        if (d->is_dead[p])
                                continue;
                        if (end_ns <= now_ns) {
                                d->is_dead[p] = true;
                                d->level -= d->bytes[p];
                        } else {
                                d->next_end_ns = MIN(d->next_end_ns, end_ns);
                        }
                }
                if (is_seen)
                        drawing_step(d, now_ns);
        }
}

static void drawing_add(struct drawing *d, uint32_t process, int64_t bytes) {
        d->bytes[process] += bytes;
        if (!d->is_dead[process])
                d->level += bytes;
}

static bool is_picked(const struct drawing *d, uint32_t process, uint32_t stack, uint64_t seq) {
        if (d->chosen)
                return chosen_has(d->chosen, seq);
        return pick_has_stack(d->pick, stack) && pick_has_process(d->pick, process);
}

static void on_release(struct drawing *d, uint32_t process, uint32_t stack, uint64_t seq,
                       uint64_t size_bytes) {
        /* all together: the copy of a child counts nowhere */
        if (is_all(d) && seq < d->t->q->inherit.first_seq[process])
                return;
        if (is_picked(d, process, stack, seq))
                drawing_add(d, process, -(int64_t)size_bytes);
}

static void begin_process(struct drawing *d, uint64_t time_ns) {
        if (d->inherited == 0)
                return;
        drawing_add(d, d->t->scope->process, d->inherited);
        d->inherited = 0;
        drawing_step(d, time_ns);
}

static void on_event(struct drawing *d, const struct trace_event *e) {
        uint32_t process = query_event_process(d->t->q, e);

        if (process >= d->t->q->view->n_processes)
                return;
        drawing_bury(d, e->time_ns, true);
        if (!is_all(d)) {
                uint64_t start_ns = d->t->q->view->processes[d->t->scope->process].start.start_ns;

                if (start_ns <= e->time_ns || process == d->t->scope->process)
                        begin_process(d, MIN(start_ns, e->time_ns));
                if (process != d->t->scope->process)
                        return;
        }
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                on_release(d, process, e->stack, e->seq, trace_event_bytes(e));
        if (e->op == TRACE_REALLOC)
                on_release(d, process, e->old_stack, e->old_seq, trace_event_old_bytes(e));
        if ((e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) &&
            is_picked(d, process, e->stack, e->seq))
                drawing_add(d, process, (int64_t)trace_event_bytes(e));
        if (d->t->level != (uint64_t)MAX(d->level, 0))
                drawing_step(d, e->time_ns);
}

/* One process: what it inherits in this slice and the state at from does not have yet. */
static void find_inherited(struct drawing *d, size_t slice_idx) {
        struct query *q = d->t->q;
        uint32_t process = d->t->scope->process;
        const struct trace_site *rows;
        struct err e = {0};
        size_t n;

        if (is_all(d) || (trace_slice(q->reader, slice_idx)->begin_ns < d->t->from_ns &&
                          q->view->processes[process].start.start_ns < d->t->from_ns))
                return;
        if (trace_read_sites(q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(q, &e);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == process && pick_has_stack(d->pick, rows[i].stack) &&
                    pick_has_process(d->pick, process))
                        d->inherited += (int64_t)rows[i].inherited_bytes;
}

static void draw_slice_events(struct drawing *d, size_t slice_idx) {
        struct query *q = d->t->q;
        const struct trace_event *events;
        size_t n;

        if (!d->chosen)
                find_inherited(d, slice_idx);
        query_read_events(q, slice_idx, &events, &n);
        for (size_t i = 0; i < n && events[i].time_ns < d->t->to_ns; i++)
                if (events[i].time_ns >= d->t->from_ns)
                        on_event(d, &events[i]);
        if (!is_all(d)) {
                uint64_t start_ns = q->view->processes[d->t->scope->process].start.start_ns;

                if (start_ns < MIN(trace_slice(q->reader, slice_idx)->end_ns, d->t->to_ns))
                        begin_process(d, start_ns);
        }
}

/* ---- history --------------------------------------------------------------------------------- */

/* When the scope peaked in the slice; false: nothing of it changed. */
static bool slice_peak_ns(struct drawing *d, size_t slice_idx, uint64_t *ret_ns) {
        const struct trace_counts *rows;
        struct err e = {0};
        size_t n;

        if (trace_read_counts(d->t->q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(d->t->q, &e);
                return false;
        }
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == d->t->scope->process || n == 1) {
                        *ret_ns = rows[i].peak_ns;
                        return true;
                }
        return false;
}

static int64_t row_change_bytes(const struct drawing *d, const struct trace_site *row) {
        if (is_all(d))
                return (int64_t)(row->alloc_bytes - (row->free_bytes - row->inherited_free_bytes));
        return (int64_t)(row->inherited_bytes + row->alloc_bytes - row->free_bytes);
}

/* A slice that lies in the window, or that it cuts: then its end is that of the window. */
static void draw_slice_rows(struct drawing *d, size_t slice_idx) {
        const struct trace_slice_info *info = trace_slice(d->t->q->reader, slice_idx);
        bool is_together = is_all(d) && d->t->q->view->n_processes > 1;
        const struct trace_site *rows;
        uint64_t peak_ns = 0;
        struct err e = {0};
        int64_t at_peak;
        size_t n;

        drawing_bury(d, info->begin_ns, true);
        at_peak = d->level;
        if (!slice_peak_ns(d, slice_idx, &peak_ns)) {
                timeline_hold_until(d->t, info->end_ns);
                return;
        }
        if (trace_read_sites(d->t->q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(d->t->q, &e);
                return;
        }
        for (size_t i = 0; i < n; i++) {
                struct state_site site = {.process = rows[i].process, .stack = rows[i].stack};

                if (!site_is_picked(d, &site))
                        continue;
                drawing_add(d, rows[i].process, row_change_bytes(d, &rows[i]));
                at_peak += is_together ? rows[i].all_peak_bytes : rows[i].peak_bytes;
        }
        if (peak_ns >= d->t->time_ns && peak_ns < info->end_ns)
                timeline_slope_to(d->t, peak_ns, (uint64_t)MAX(at_peak, 0));
        drawing_bury(d, info->end_ns, false); /* when in the slice, its rows do not tell */
        timeline_slope_to(d->t, info->end_ns, (uint64_t)MAX(d->level, 0));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Slices that the window cuts are drawn by their events, so far as the trace still has them. */
static void draw_slices(struct drawing *d, bool by_events) {
        struct query *q = d->t->q;

        for (size_t i = query_slice_at(q, d->t->from_ns); i < q->view->n_slices; i++) {
                const struct trace_slice_info *info = trace_slice(q->reader, i);

                if (info->begin_ns >= d->t->to_ns)
                        break;
                if (by_events || (!query_slice_is_inside(info, d->t->from_ns, d->t->to_ns) &&
                                  (info->has_events || !info->n_events)))
                        draw_slice_events(d, i);
                else
                        draw_slice_rows(d, i);
                if (!query_go_on(q, i + 1, q->view->n_slices))
                        break;
        }
        drawing_bury(d, d->t->to_ns, true);
}

static bool may_read_events(const struct timeline *t) {
        uint64_t n = 0;

        for (size_t i = query_slice_at(t->q, t->from_ns); i < t->q->view->n_slices; i++) {
                const struct trace_slice_info *info = trace_slice(t->q->reader, i);

                if (info->begin_ns >= t->to_ns)
                        break;
                if (info->n_events && !info->has_events)
                        return false;
                n += info->n_events;
        }
        return n <= t->n_events_left;
}

int timeline_draw_picked(struct timeline *t, const struct pick *pick, struct err *reterr) {
        struct drawing d;
        int r = 0;

        drawing_init(&d, t, pick);
        if (pick->needs_events)
                r = begin_from_lives(&d, reterr);
        else
                begin_from_history(&d);
        if (r >= 0)
                draw_slices(&d, pick->needs_events || may_read_events(t));
        drawing_done(&d);
        return r;
}
