/* SPDX-License-Identifier: MIT */
/* One pass over the events. One process: follows it from its oldest ancestor on; at each fork of
 * the line the table of the parent becomes that of the child. All processes: one table of everyone's own blocks; what
 * an allocator has released but a child may still release waits in a second one (heirs.h). */
#include "query/block_life.h"

#include "query/alive.h"
#include "query/fair_peak.h"
#include "query/living_heirs.h"
#include "query/pick.h"
#include "query/query_internal.h"
#include "query/window_peak.h"

struct scan {
        struct query *q;
        const struct query_scope *scope;
        const struct pick *pick;
        life_fn fn;
        void *ctx;
        uint64_t to_ns; /* releases up to here are looked for */
        uint64_t
                peak_pos; /* UINT64_MAX: not among the events; is_peak_at_from says whether at the begin */
        uint64_t peak_ns;
        bool is_peak_at_from, is_peak_at_fork, has_peak;
        struct alive live;
        uint64_t *last_seq; /* thread → number of its latest allocation, plus 1 */
        uint64_t pos;       /* of the event at hand */
        bool is_exact, is_over;
        struct fair_peak *halves; /* NULL: not wanted */
        /* one process */
        VEC(uint32_t) line;     /* the process and its ancestors, oldest first */
        size_t line_idx;        /* whose blocks are in the table */
        bool is_forked_by_from; /* it began before the window did */
        /* all processes */
        struct living_heirs heirs;
        struct alive kept;    /* released by their allocator; a child may still do so */
        size_t n_kept_before; /* when they were looked through last */
        uint64_t next_seq;
};

static bool is_all(const struct scan *s) {
        return s->scope->process == QUERY_ALL;
}

static uint32_t thread_process(const struct scan *s, uint32_t thread) {
        return s->q->view->threads[thread].start.process;
}

void life_add_var(double *var, const struct query_life *l, const struct query_scope *s) {
        double n = l->n_blocks, count = n * (n - 1);
        double bytes = count * (double)l->size_bytes * (double)l->size_bytes;

        if (l->n_blocks <= 1)
                return;
        if (life_is_allocated_in(l, s)) {
                var[QUERY_ALLOCATED] += bytes;
                var[QUERY_COUNT] += count;
        }
        if (life_is_released_in(l, s) && l->is_temporary)
                var[QUERY_TEMPORARY] += count;
        if (l->is_live_at_peak)
                var[QUERY_PEAK] += bytes;
        if (l->is_live_at_to)
                var[QUERY_END] += bytes;
        if (l->is_live_at_to != l->is_live_at_from)
                var[QUERY_GROWTH] += bytes;
}

/* ---- telling --------------------------------------------------------------------------------- */

static struct query_life life_of(const struct scan *s, const struct alive_block *b,
                                 uint32_t process) {
        return (struct query_life){.process = process,
                                   .stack = b->stack,
                                   .thread = b->thread,
                                   .free_thread = TRACE_NO_THREAD,
                                   .n_blocks = b->n_blocks,
                                   .size_bytes = b->size_bytes,
                                   .seq = b->seq,
                                   .begin_ns = b->begin_ns,
                                   .end_ns = UINT64_MAX,
                                   .last_ns = MIN(query_process_end_ns(s->q, process),
                                                  s->q->view->end_ns),
                                   .by_realloc = b->by_realloc,
                                   .is_inherited = b->is_inherited};
}

static bool was_live_at_from(const struct scan *s, const struct alive_block *b) {
        return b->is_inherited ? s->is_forked_by_from : b->begin_ns < s->scope->from_ns;
}

/* Of all together those that have ended hold nothing. */
static bool is_counted_at(const struct scan *s, uint32_t process, uint64_t time_ns) {
        return !is_all(s) || query_process_gone_ns(s->q, process) >= time_ns;
}

/* Of those still alive at the moment, or released at s->pos. */
static bool was_live_at_peak(const struct scan *s, const struct alive_block *b,
                             const struct query_life *l) {
        if (!s->has_peak || !is_counted_at(s, l->process, s->peak_ns))
                return false;
        if (s->is_peak_at_from)
                return l->is_live_at_from;
        return b->is_by_peak && s->peak_pos < s->pos;
}

static void tell(struct scan *s, const struct query_life *l) {
        if (pick_has_block(s->pick, l) && !s->fn(s->ctx, l))
                s->is_over = true;
}

/* What a release event says of the block's end. */
static void life_end(struct query_life *l, const struct scan *s, const struct trace_event *e) {
        l->end_ns = l->last_ns = e->time_ns;
        l->free_thread = e->thread;
        l->is_implicit_free = e->op == TRACE_OTHER;
        l->is_temporary = e->op != TRACE_OTHER && e->thread == l->thread &&
                          s->last_seq[e->thread] == l->seq + 1;
}

static void tell_released(struct scan *s, const struct alive_block *b, uint32_t process,
                          const struct trace_event *e) {
        struct query_life l = life_of(s, b, process);

        if (e->time_ns < s->scope->from_ns)
                return;
        life_end(&l, s, e);
        l.is_live_at_from = was_live_at_from(s, b);
        l.is_live_at_to = e->time_ns >= s->scope->to_ns;
        l.is_live_at_peak = was_live_at_peak(s, b, &l);
        tell(s, &l);
}

static bool tell_survivor(void *ctx, struct alive_block *b) {
        struct scan *s = ctx;
        struct query_life l =
                life_of(s, b,
                        is_all(s) ? thread_process(s, b->thread) : s->line.items[s->line_idx]);

        if (s->is_over)
                return true;
        l.is_live_at_from =
                was_live_at_from(s, b) && is_counted_at(s, l.process, s->scope->from_ns);
        l.is_live_at_to = is_counted_at(s, l.process, s->scope->to_ns);
        l.is_live_at_peak = was_live_at_peak(s, b, &l);
        tell(s, &l);
        return true;
}

/* ---- forks: one process ---------------------------------------------------------------------- */

static void line_init(struct scan *s) {
        for (uint32_t p = s->scope->process; p != TRACE_NO_PROCESS; p = inherited_parent(s->q, p))
                vec_push(&s->line, p);
        for (size_t i = 0; i < s->line.n / 2; i++) {
                uint32_t x = s->line.items[i];

                s->line.items[i] = s->line.items[s->line.n - 1 - i];
                s->line.items[s->line.n - 1 - i] = x;
        }
}

static bool line_is_at_end(const struct scan *s) {
        return s->line_idx + 1 == s->line.n;
}

struct inheriting {
        bool is_by_peak;
};

static bool inherit_block(void *ctx, struct alive_block *b) {
        const struct inheriting *i = ctx;

        b->is_inherited = 1;
        b->is_by_peak = i->is_by_peak;
        return true;
}

/* Goes on to the children of the line that began by time_ns, or whose event is here. */
static void line_advance(struct scan *s, uint64_t pos, uint64_t time_ns, uint32_t also) {
        while (!line_is_at_end(s)) {
                uint32_t child = s->line.items[s->line_idx + 1];
                uint64_t start_ns = s->q->view->processes[child].start.start_ns;
                /* no event need lie between a fork and the next slice: then their places tell less */
                struct inheriting i = {s->is_peak_at_fork || pos <= s->peak_pos};

                if (start_ns > time_ns && child != also)
                        return;
                s->line_idx++;
                if (!line_is_at_end(s))
                        continue;
                s->is_forked_by_from = MIN(start_ns, time_ns) < s->scope->from_ns;
                alive_each(&s->live, inherit_block, &i);
        }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_alloc(struct scan *s, const struct trace_event *e) {
        struct alive_block b = {.seq = e->seq,
                                .size_bytes = e->size_bytes,
                                .n_blocks = e->n_blocks,
                                .begin_ns = e->time_ns,
                                .stack = e->stack,
                                .thread = e->thread & ALIVE_MAX_THREAD,
                                .by_realloc = e->op == TRACE_REALLOC,
                                .is_by_peak = s->pos <= s->peak_pos};

        s->last_seq[e->thread] = e->seq + 1;
        s->next_seq = e->seq + 1;
        if (e->time_ns < s->scope->to_ns &&
            !pick_rules_out(s->pick, e->stack, e->thread, e->size_bytes, e->time_ns)) {
                alive_put(&s->live, &b);
                if (s->halves)
                        fair_peak_add(s->halves, b.seq, b.size_bytes, b.n_blocks);
        }
}

/* Takes a block out of those alive. */
static bool take_live(struct scan *s, uint64_t seq, struct alive_block *ret) {
        if (!alive_take(&s->live, seq, ret))
                return false;
        if (s->halves)
                fair_peak_take(s->halves, seq, ret->size_bytes, ret->n_blocks);
        return true;
}

/* A child released its copy of a block. */
static void on_copy_release(struct scan *s, const struct alive_block *b, uint32_t process,
                            const struct trace_event *e) {
        struct query_life l = life_of(s, b, process);

        if (e->time_ns < s->scope->from_ns || e->time_ns >= s->scope->to_ns)
                return;
        life_end(&l, s, e);
        l.is_inherited = true;
        tell(s, &l);
}

static void on_release(struct scan *s, uint32_t process, const struct trace_event *e,
                       uint64_t seq) {
        bool is_old = e->op == TRACE_REALLOC;
        struct alive_block b;
        const struct alive_block *found;

        if (pick_rules_out_released(s->pick, is_old ? e->old_stack : e->stack,
                                    is_old ? e->old_size_bytes : e->size_bytes))
                return;
        if (!is_all(s)) {
                if (take_live(s, seq, &b) && line_is_at_end(s))
                        tell_released(s, &b, process, e);
                return;
        }
        found = alive_find(&s->live, seq);
        if (!found)
                found = alive_find(&s->kept, seq);
        if (!found)
                return;
        b = *found;
        if (thread_process(s, b.thread) != process) {
                on_copy_release(s, &b, process, e);
                return;
        }
        if (!take_live(s, seq, &b))
                return;
        if (seq < living_heirs_below_seq(&s->heirs, process))
                alive_put(&s->kept, &b);
        tell_released(s, &b, process, e);
}

static bool keeps_block(void *ctx, struct alive_block *b) {
        const struct scan *s = ctx;

        return b->seq < living_heirs_below_seq(&s->heirs, thread_process(s, b->thread));
}

/* Now and then, when there are twice as many as after the last time. */
static void drop_kept(struct scan *s) {
        if (s->kept.n < 2 * s->n_kept_before || s->kept.n < ALIVE_YOUNG)
                return;
        alive_each(&s->kept, keeps_block, s);
        s->n_kept_before = s->kept.n;
}

/* What the events so far left, if it was so in the window. */
static void look_at_halves(struct scan *s, uint64_t until_ns) {
        if (s->halves && until_ns >= s->scope->from_ns && (is_all(s) || line_is_at_end(s)))
                fair_peak_look(s->halves);
}

static void on_event(struct scan *s, const struct trace_event *e) {
        uint32_t process = query_event_process(s->q, e);

        if (process >= s->q->view->n_processes || e->thread > ALIVE_MAX_THREAD)
                return;
        if (is_all(s)) {
                if (living_heirs_advance(&s->heirs, e->time_ns, process, s->next_seq))
                        drop_kept(s);
        } else {
                line_advance(s, s->pos - 1, e->time_ns, process);
                if (process != s->line.items[s->line_idx])
                        return;
        }
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                on_release(s, process, e, e->seq);
        if (e->op == TRACE_OTHER && e->other == TRACE_UNSAMPLED)
                s->last_seq[e->thread] = 0;
        if (e->op == TRACE_REALLOC)
                on_release(s, process, e, e->old_seq);
        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC)
                on_alloc(s, e);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Whether nothing behind the window's end can matter any more. */
static bool is_done_at(const struct scan *s, uint64_t time_ns) {
        return time_ns >= s->to_ns || (time_ns >= s->scope->to_ns && s->live.n == 0);
}

static void scan_slice(struct scan *s, size_t slice_idx) {
        const struct trace_event *events;
        size_t n;

        if (!query_read_events(s->q, slice_idx, &events, &n))
                s->is_exact = false;
        for (size_t i = 0; i < n && !s->is_over; i++) {
                if (is_done_at(s, events[i].time_ns))
                        break;
                /* whoever began in the window has done so before the first event behind it */
                if (events[i].time_ns >= s->scope->to_ns && !is_all(s) && !line_is_at_end(s))
                        line_advance(s, pos_before(slice_idx, i), s->scope->to_ns - 1,
                                     TRACE_NO_PROCESS);
                if (events[i].time_ns >= s->scope->to_ns && !is_all(s) && !line_is_at_end(s))
                        break;
                s->pos = pos_after(slice_idx, i);
                if (s->halves)
                        look_at_halves(s, events[i].time_ns);
                on_event(s, &events[i]);
        }
}

static void scan_run(struct scan *s) {
        size_t n = s->q->view->n_slices, i;

        for (i = 0; i < n && !s->is_over; i++) {
                if (is_done_at(s, trace_slice(s->q->reader, i)->begin_ns))
                        break;
                scan_slice(s, i);
                if (!query_go_on(s->q, i + 1, n))
                        return;
        }
        s->pos = UINT64_MAX;
        if (!is_all(s) && s->scope->to_ns > 0)
                line_advance(s, pos_before(i, 0), s->scope->to_ns - 1, TRACE_NO_PROCESS);
        look_at_halves(s, UINT64_MAX);
        if (is_all(s) || line_is_at_end(s))
                alive_each(&s->live, tell_survivor, s);
}

static void scan_set_peak(struct scan *s, const struct peak *peak) {
        s->has_peak = true;
        s->peak_ns = peak->time_ns;
        s->is_peak_at_from = peak->place == PEAK_AT_BEGIN;
        if (s->is_peak_at_from)
                return;
        if (!peak_locate(s->q, peak, s->scope->process, &s->peak_pos, &s->is_peak_at_fork)) {
                s->has_peak = false;
                s->is_exact = false;
        }
}

int life_scan_fair_peak(struct query *q, const struct query_scope *scope, unsigned flags,
                        const struct peak *peak, struct fair_peak *halves, life_fn fn, void *ctx,
                        bool *ret_is_exact, struct err *reterr) {
        struct scan s = {
                .q = q, .scope = scope, .fn = fn, .ctx = ctx, .is_exact = true, .halves = halves};
        int r = pick_get(q, scope->filter, &s.pick, reterr);

        if (r < 0)
                return r;
        s.to_ns = flags & LIFE_TO_END ? UINT64_MAX : scope->to_ns;
        if (s.pick)
                s.to_ns = MAX(s.to_ns, s.pick->needs_to_ns);
        s.last_seq = calloc(q->view->n_threads + 1, sizeof(s.last_seq[0]));
        if (!s.last_seq)
                abort();
        if (peak)
                scan_set_peak(&s, peak);
        inherited_load(q);
        if (is_all(&s))
                living_heirs_init(&s.heirs, q);
        else
                line_init(&s);
        scan_run(&s);
        if (is_all(&s))
                living_heirs_done(&s.heirs);
        vec_free(&s.line);
        alive_done(&s.live);
        alive_done(&s.kept);
        free(s.last_seq);
        if (ret_is_exact)
                *ret_is_exact = s.is_exact;
        return query_end(q, reterr);
}

int life_scan_peak(struct query *q, const struct query_scope *scope, unsigned flags,
                   const struct peak *peak, life_fn fn, void *ctx, bool *ret_is_exact,
                   struct err *reterr) {
        return life_scan_fair_peak(q, scope, flags, peak, NULL, fn, ctx, ret_is_exact, reterr);
}

int life_scan(struct query *q, const struct query_scope *scope, unsigned flags, life_fn fn,
              void *ctx, bool *ret_is_exact, struct err *reterr) {
        struct peak peak;

        if (flags & LIFE_NO_PEAK)
                return life_scan_peak(q, scope, flags, NULL, fn, ctx, ret_is_exact, reterr);
        peak_of_scope(q, scope, &peak);
        return life_scan_peak(q, scope, flags, &peak, fn, ctx, ret_is_exact, reterr);
}
