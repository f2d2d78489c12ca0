/* SPDX-License-Identifier: MIT */
#include "query/window_peak.h"

#include "query/process_sum.h"
#include "query/query_internal.h"
#include "query/replay.h"

/* ---- finding --------------------------------------------------------------------------------- */

struct finder {
        struct query *q;
        uint64_t from_ns, to_ns;
        bool want_all;
        struct peak *peaks;
        struct peak *all;
        struct process_sum sum;
        size_t slice_idx;
};

static void peak_raise(struct peak *p, struct peak with) {
        if (with.bytes > p->bytes)
                *p = with;
}

static void finder_step(void *ctx, const struct state *s, const struct replay_step *step) {
        struct finder *f = ctx;
        const struct trace_counts *c = &s->counts[step->process];
        struct peak here = {.time_ns = step->is_heritage ? step->time_ns + 1 : step->time_ns,
                            .place = PEAK_AT_STEP,
                            .slice_idx = f->slice_idx,
                            .step = step->number};

        if (f->want_all)
                process_sum_step(&f->sum, step);
        if (step->time_ns < f->from_ns)
                return;
        here.bytes = c->live_bytes, here.blocks = c->live_blocks;
        peak_raise(&f->peaks[step->process], here);
        if (f->want_all) {
                here.bytes = (uint64_t)f->sum.bytes, here.blocks = (uint64_t)f->sum.blocks;
                peak_raise(f->all, here);
        }
}

/* False when the slice's events are missing. */
static bool finder_cut_slice(struct finder *f) {
        const struct replay_limits limits = {.before_ns = f->to_ns,
                                             .n_steps = UINT64_MAX,
                                             .seen_from_ns = f->from_ns,
                                             .skip_temporary = true};
        struct state s;
        bool done;

        state_init(&s, f->q->view->n_processes, f->want_all ? QUERY_ALL : STATE_COUNTS_ONLY);
        state_fold(&s);
        state_load(f->q, &s, f->slice_idx);
        if (f->want_all)
                process_sum_init(&f->sum, f->q, &s,
                                 trace_slice(f->q->reader, f->slice_idx)->begin_ns);
        done = replay_slice(f->q, &s, f->slice_idx, &limits, finder_step, f);
        if (f->want_all)
                process_sum_done(&f->sum);
        state_done(&s);
        return done;
}

static void finder_whole_slice(struct finder *f) {
        const struct trace_counts *rows;
        bool has_all = false;
        struct err e = {0};
        size_t n;

        if (trace_read_counts(f->q->reader, f->slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(f->q, &e);
                return;
        }
        for (size_t i = 0; i < n; i++) {
                struct peak here = {rows[i].peak_bytes, rows[i].peak_blocks, rows[i].peak_ns,
                                    PEAK_IN_SLICE,      f->slice_idx,        0};

                if (rows[i].process < f->q->view->n_processes)
                        peak_raise(&f->peaks[rows[i].process], here);
                else if (f->want_all)
                        peak_raise(f->all, here);
                has_all |= rows[i].process == TRACE_NO_PROCESS;
        }
        /* No row for all together while there was only one process: what is true of it is true
         * of all. */
        if (f->want_all && !has_all && n == 1)
                peak_raise(f->all, (struct peak){rows[0].peak_bytes, rows[0].peak_blocks,
                                                 rows[0].peak_ns, PEAK_IN_SLICE, f->slice_idx, 0});
}

static void finder_begin(struct finder *f, const struct state *begin) {
        for (size_t p = 0; p < begin->n_processes; p++)
                f->peaks[p] = (struct peak){.bytes = begin->counts[p].live_bytes,
                                            .blocks = begin->counts[p].live_blocks,
                                            .time_ns = f->from_ns};
        *f->all = (struct peak){.time_ns = f->from_ns};
        if (f->want_all) {
                struct process_sum c;

                process_sum_init(&c, f->q, begin, f->from_ns);
                f->all->bytes = (uint64_t)c.bytes;
                f->all->blocks = (uint64_t)c.blocks;
                process_sum_done(&c);
        }
}

void peak_find(struct query *q, const struct state *begin, uint64_t from_ns, uint64_t to_ns,
               bool want_all, struct peak *ret_peaks) {
        struct finder f = {.q = q,
                           .from_ns = from_ns,
                           .to_ns = to_ns,
                           .want_all = want_all,
                           .peaks = ret_peaks,
                           .all = &ret_peaks[q->view->n_processes]};

        finder_begin(&f, begin);
        for (f.slice_idx = query_slice_at(q, from_ns); f.slice_idx < q->view->n_slices;
             f.slice_idx++) {
                const struct trace_slice_info *info = trace_slice(q->reader, f.slice_idx);

                if (info->begin_ns >= to_ns)
                        break;
                if (query_slice_is_inside(info, from_ns, to_ns) || !finder_cut_slice(&f))
                        finder_whole_slice(&f);
                if (!query_go_on(q, f.slice_idx + 1, q->view->n_slices))
                        break;
        }
}

void peak_of_scope(struct query *q, const struct query_scope *scope, struct peak *ret_peak) {
        size_t n = q->view->n_processes;
        bool is_all = scope->process == QUERY_ALL;
        struct peak *peaks = calloc(n + 1, sizeof(peaks[0]));
        struct state begin;

        if (!peaks)
                abort();
        if (is_all)
                inherited_load(q);
        state_init(&begin, n, is_all ? QUERY_ALL : STATE_COUNTS_ONLY);
        state_fold(&begin);
        if (scope->from_ns > 0)
                state_load_time(q, &begin, scope->from_ns);
        peak_find(q, &begin, scope->from_ns, scope->to_ns, is_all, peaks);
        *ret_peak = peaks[is_all ? n : scope->process];
        state_done(&begin);
        free(peaks);
}

/* ---- its place among the events -------------------------------------------------------------- */

struct locator {
        const struct peak *peak;
        uint32_t process;
        struct process_sum sum; /* all together only */
        uint64_t pos, bytes;
        bool is_found, is_fork;
        /* The best there is while no step has exactly the peak's bytes: a recorder learns late of processes that end, and
         * counts them in the sum of all for longer. Then it is the highest of the peak's microsecond, or the last before. */
        bool is_in_time, has_any;
};

static void locator_take(struct locator *l, const struct replay_step *step) {
        l->is_fork = !step->event && !step->is_heritage;
        l->pos = step->event ? pos_after(l->peak->slice_idx, step->event_idx)
                             : pos_before(l->peak->slice_idx, step->event_idx);
}

static void locator_see(struct locator *l, const struct replay_step *step, uint64_t bytes) {
        bool in_time = step->time_ns / 1000 == l->peak->time_ns / 1000;

        if (step->time_ns / 1000 > l->peak->time_ns / 1000 ||
            (l->is_in_time && (!in_time || bytes <= l->bytes)))
                return;
        l->is_in_time = in_time;
        l->has_any = true;
        l->bytes = bytes;
        locator_take(l, step);
}

static void locator_step(void *ctx, const struct state *s, const struct replay_step *step) {
        struct locator *l = ctx;
        uint64_t bytes;

        if (l->process == QUERY_ALL)
                process_sum_step(&l->sum, step);
        if (l->is_found || (l->process != QUERY_ALL && step->process != l->process))
                return;
        bytes = l->process == QUERY_ALL ? (uint64_t)l->sum.bytes : s->counts[l->process].live_bytes;
        l->is_found = l->peak->place == PEAK_AT_STEP ? step->number == l->peak->step
                                                     : bytes == l->peak->bytes;
        if (l->is_found)
                locator_take(l, step);
        else
                locator_see(l, step, bytes);
}

bool peak_locate(struct query *q, const struct peak *peak, uint32_t process, uint64_t *ret_pos,
                 bool *ret_is_fork) {
        const struct replay_limits limits = {.before_ns = UINT64_MAX,
                                             .n_steps = UINT64_MAX,
                                             .skip_temporary = true};
        struct locator l = {.peak = peak, .process = process};
        struct state s;

        state_init(&s, q->view->n_processes, process);
        if (process == QUERY_ALL)
                state_fold(&s);
        state_load(q, &s, peak->slice_idx);
        if (process == QUERY_ALL)
                process_sum_init(&l.sum, q, &s, trace_slice(q->reader, peak->slice_idx)->begin_ns);
        replay_slice(q, &s, peak->slice_idx, &limits, locator_step, &l);
        if (process == QUERY_ALL)
                process_sum_done(&l.sum);
        state_done(&s);
        *ret_pos = l.pos;
        *ret_is_fork = l.is_fork;
        return l.is_found || l.has_any;
}

/* ---- sites at a peak ------------------------------------------------------------------------- */

struct visit {
        const struct query *q;
        const struct peak *peak;
        uint32_t process;
        peak_site_fn fn;
        void *ctx;
};

/* Whether the process's blocks count at the peak. */
static bool visit_wants(const struct visit *v, uint32_t process) {
        if (v->process != QUERY_ALL)
                return process == v->process;
        return query_process_gone_ns(v->q, process) >= v->peak->time_ns;
}

static void visit_state(const struct visit *v, const struct state *s) {
        for (size_t i = 0; i < s->sites.n; i++) {
                const struct state_site *site = &s->sites.items[i];
                bool own = v->process == QUERY_ALL;

                if (site->process != STATE_ENDED && visit_wants(v, site->process))
                        v->fn(v->ctx, site->process, site->stack,
                              own ? state_site_own_bytes(site) : state_site_live_bytes(site),
                              own ? state_site_own_blocks(site) : state_site_live_blocks(site));
        }
}

/* A trace of one process, or a slice from before there were two, has no figures for all
 * together. */
static bool rows_have_all(const struct trace_counts *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == TRACE_NO_PROCESS)
                        return true;
        return false;
}

static void visit_slice_deltas(const struct visit *v, struct query *q) {
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t n_sites, n_counts;
        struct err e = {0};
        bool all;

        if (trace_read_counts(q->reader, v->peak->slice_idx, &counts, &n_counts, &e) < 0) {
                query_note_damage(q, &e);
                return;
        }
        all = v->process == QUERY_ALL && rows_have_all(counts, n_counts);
        if (trace_read_sites(q->reader, v->peak->slice_idx, &sites, &n_sites, &e) < 0) {
                query_note_damage(q, &e);
                return;
        }
        for (size_t i = 0; i < n_sites; i++)
                if (visit_wants(v, sites[i].process))
                        v->fn(v->ctx, sites[i].process, sites[i].stack,
                              all ? sites[i].all_peak_bytes : sites[i].peak_bytes,
                              all ? sites[i].all_peak_blocks : sites[i].peak_blocks);
}

void peak_each_site(struct query *q, const struct state *begin, const struct peak *peak,
                    uint32_t process, peak_site_fn fn, void *ctx) {
        const struct replay_limits limits = {.before_ns = UINT64_MAX,
                                             .n_steps = peak->step + 1,
                                             .seen_from_ns = UINT64_MAX,
                                             .skip_temporary = true};
        struct visit v = {q, peak, process, fn, ctx};
        struct state s;

        if (peak->place == PEAK_AT_BEGIN) {
                visit_state(&v, begin);
                return;
        }
        state_init(&s, q->view->n_processes, process);
        if (process == QUERY_ALL)
                state_fold(&s);
        state_load(q, &s, peak->slice_idx);
        if (peak->place == PEAK_AT_STEP)
                replay_slice(q, &s, peak->slice_idx, &limits, NULL, NULL);
        visit_state(&v, &s);
        if (peak->place == PEAK_IN_SLICE)
                visit_slice_deltas(&v, q);
        state_done(&s);
}
