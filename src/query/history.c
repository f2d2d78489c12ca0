/* SPDX-License-Identifier: MIT */
/* What groups held over time. Between slices from their rows; inside a slice, while that is cheap enough, by
 * replaying it; where only blocks tell (threads, sizes, filters on blocks) from every block's life. */
#include <string.h>

#include "base/units.h"
#include "query/group.h"
#include "query/mapping_walk.h"
#include "query/pick.h"
#include "query/query_internal.h"
#include "query/replay.h"
#include "query/time_answer.h"
#include "query/work_columns.h"

enum { RANK_UNKNOWN = UINT32_MAX, RANK_OUTSIDE = UINT32_MAX - 1 };

/* What a group has at a moment; releases and allocations since the recording began. */
struct held {
        int64_t bytes, blocks, n_allocs, n_frees;
};

struct telling {
        struct query *q;
        struct query_scope scope; /* as answered, to_ns at most the recording's end */
        const struct pick *pick;
        struct query_history *h;
        uint64_t *ends_ns; /* of columns; NULL: they are of equal length */
        struct group_keys keys;
        struct map rank_of_key;
        uint32_t *rank_of_stack; /* RANK_UNKNOWN while not asked for */
        uint64_t n_events_left;
        bool is_rough; /* no events are to be read: checkpoints near columns' ends will do */
        size_t column; /* the next one to be filled */
        /* within a slice that is replayed */
        struct held *held;   /* [process * n_ranks + rank]; one process: process 0 */
        struct held *before; /* [rank]: at the window's begin */
        size_t n_ranks;
};

/* Figures of a damaged trace may be anything: sums of them come round. */
static void add(int64_t *to, uint64_t value) {
        *to = (int64_t)((uint64_t)*to + value);
}

static bool is_all(const struct telling *t) {
        return t->scope.process == QUERY_ALL;
}

/* ---- who belongs where ----------------------------------------------------------------------- */

static uint32_t rank_of_key(const struct telling *t, uint64_t key) {
        uint64_t rank;

        return map_get(&t->rank_of_key, key, &rank) ? (uint32_t)rank : (uint32_t)t->h->n_groups;
}

static uint32_t rank_of_site(struct telling *t, uint32_t process, uint32_t stack) {
        uint32_t *rank = &t->rank_of_stack[MIN(stack, t->q->view->n_stacks)];

        if (!pick_has_stack(t->pick, stack) || !pick_has_process(t->pick, process))
                return RANK_OUTSIDE;
        if (t->keys.by == QUERY_BY_PROCESS)
                return rank_of_key(t, process);
        if (*rank == RANK_UNKNOWN)
                *rank = rank_of_key(t, group_keys_of_stack(&t->keys, stack));
        return *rank;
}

static void begin_ranks(struct telling *t) {
        for (size_t i = 0; i < t->h->n_groups; i++)
                map_put(&t->rank_of_key, group_keys_of_row(&t->keys, &t->h->groups->rows[i]), i,
                        NULL);
        t->rank_of_stack = malloc((t->q->view->n_stacks + 1) * sizeof(uint32_t));
        if (!t->rank_of_stack)
                abort();
        for (size_t i = 0; i <= t->q->view->n_stacks; i++)
                t->rank_of_stack[i] = RANK_UNKNOWN;
}

/* ---- moments --------------------------------------------------------------------------------- */

static uint64_t column_end_ns(const struct telling *t, size_t column) {
        uint64_t span_ns = t->scope.to_ns - t->scope.from_ns;

        if (t->ends_ns)
                return t->ends_ns[column];
        return t->scope.from_ns + (uint64_t)((__uint128_t)span_ns * (column + 1) / t->h->n_columns);
}

/* All: and one for those that are over. */
static size_t n_held_processes(const struct telling *t) {
        return is_all(t) ? t->q->view->n_processes + 1 : 1;
}

static size_t held_process(const struct telling *t, uint32_t process) {
        if (!is_all(t))
                return 0;
        return process == STATE_ENDED ? t->q->view->n_processes : process;
}

/* Those that are over are told apart only where somebody may ask which they were. */
static void begin_state(const struct telling *t, struct state *s) {
        state_init(s, t->q->view->n_processes, t->scope.process);
        if (is_all(t) && !t->pick && t->keys.by != QUERY_BY_PROCESS)
                state_fold(s);
}

static void fill_from_process(struct telling *t, size_t process, uint64_t at_ns) {
        struct query_history *h = t->h;
        /* then it took its blocks with it */
        bool is_gone = is_all(t) && (process == t->q->view->n_processes ||
                                     query_process_gone_ns(t->q, (uint32_t)process) < at_ns);

        for (size_t r = 0; r < t->n_ranks; r++) {
                const struct held *x = &t->held[process * t->n_ranks + r];
                size_t i = r * h->n_columns + t->column;

                add(&h->n_allocs[i], (uint64_t)x->n_allocs);
                add(&h->n_frees[i], (uint64_t)x->n_frees);
                if (is_gone)
                        continue;
                add(&h->live_bytes[i], (uint64_t)x->bytes);
                add(&h->live_blocks[i], (uint64_t)x->blocks);
        }
}

static void fill_column(struct telling *t, uint64_t at_ns) {
        struct query_history *h = t->h;

        h->at_ns[t->column] = at_ns;
        for (size_t p = 0; p < n_held_processes(t); p++)
                fill_from_process(t, p, at_ns);
        for (size_t r = 0; r < t->n_ranks; r++) {
                size_t i = r * h->n_columns + t->column;

                add(&h->n_allocs[i], 0 - (uint64_t)t->before[r].n_allocs);
                add(&h->n_frees[i], 0 - (uint64_t)t->before[r].n_frees);
        }
        t->column++;
}

static void add_site(struct held *to, const struct state_site *s, bool own) {
        add(&to->bytes, (uint64_t)(own ? state_site_own_bytes(s) : state_site_live_bytes(s)));
        add(&to->blocks, (uint64_t)(own ? state_site_own_blocks(s) : state_site_live_blocks(s)));
        add(&to->n_allocs, s->n_allocs);
        add(&to->n_frees, s->n_frees);
}

static void load_held(struct telling *t, const struct state *s) {
        memset(t->held, 0, n_held_processes(t) * t->n_ranks * sizeof(t->held[0]));
        for (size_t i = 0; i < s->sites.n; i++) {
                const struct state_site *site = &s->sites.items[i];
                uint32_t rank;

                if ((site->process >= t->q->view->n_processes && site->process != STATE_ENDED) ||
                    (!is_all(t) && site->process != t->scope.process))
                        continue;
                rank = rank_of_site(t, site->process, site->stack);
                if (rank != RANK_OUTSIDE)
                        add_site(&t->held[held_process(t, site->process) * t->n_ranks + rank], site,
                                 is_all(t));
        }
}

/* What was allocated and released before the window does not count. */
static void load_before(struct telling *t) {
        struct state s;

        if (t->scope.from_ns == 0)
                return;
        begin_state(t, &s);
        state_load_time(t->q, &s, t->scope.from_ns);
        load_held(t, &s);
        for (size_t p = 0; p < n_held_processes(t); p++)
                for (size_t r = 0; r < t->n_ranks; r++) {
                        add(&t->before[r].n_allocs, (uint64_t)t->held[p * t->n_ranks + r].n_allocs);
                        add(&t->before[r].n_frees, (uint64_t)t->held[p * t->n_ranks + r].n_frees);
                }
        state_done(&s);
}

/* ---- inside a slice -------------------------------------------------------------------------- */

static struct held *held_of(struct telling *t, uint32_t process, uint32_t stack) {
        uint32_t rank = rank_of_site(t, process, stack);

        return rank == RANK_OUTSIDE ? NULL
                                    : &t->held[(is_all(t) ? process : 0) * t->n_ranks + rank];
}

static void take_alloc(struct held *x, uint64_t bytes, uint32_t n_blocks) {
        if (!x)
                return;
        add(&x->bytes, bytes);
        add(&x->blocks, n_blocks);
        add(&x->n_allocs, n_blocks);
}

/* gone: bytes and blocks that the process counts no more; of all together, copies count elsewhere. */
static void take_release(struct held *x, uint64_t gone_bytes, uint64_t gone_blocks,
                         uint32_t n_blocks) {
        if (!x)
                return;
        add(&x->bytes, 0 - gone_bytes);
        add(&x->blocks, 0 - gone_blocks);
        add(&x->n_frees, n_blocks);
}

static void take_event(struct telling *t, const struct replay_step *step) {
        const struct trace_event *e = step->event;

        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC)
                take_alloc(held_of(t, step->process, e->stack), trace_event_bytes(e), e->n_blocks);
        if (e->op == TRACE_REALLOC)
                take_release(held_of(t, step->process, e->old_stack),
                             is_all(t) ? step->gone_bytes : trace_event_old_bytes(e),
                             is_all(t) ? step->gone_blocks : e->old_n_blocks, e->old_n_blocks);
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                take_release(held_of(t, step->process, e->stack),
                             is_all(t) ? step->gone_bytes : trace_event_bytes(e),
                             is_all(t) ? step->gone_blocks : e->n_blocks, e->n_blocks);
}

static void take_step(void *ctx, const struct state *s, const struct replay_step *step) {
        struct telling *t = ctx;

        while (t->column < t->h->n_columns && column_end_ns(t, t->column) <= step->time_ns)
                fill_column(t, column_end_ns(t, t->column));
        if (!is_all(t) && step->process != t->scope.process)
                return;
        if (step->event && step->n_gains == 0)
                take_event(t, step);
        else if (!is_all(t) || step->is_heritage ||
                 step->n_gains) /* it began: with its parent's blocks */
                load_held(t, s);
}

/* Columns that end inside the slice, exactly; s ends up behind the slice. False: the events are missing or too many. */
static bool tell_inside(struct telling *t, struct state *s, size_t slice_idx) {
        const struct replay_limits limits = {.before_ns = UINT64_MAX,
                                             .n_steps = UINT64_MAX,
                                             .skip_temporary = true};
        const struct trace_slice_info *info = trace_slice(t->q->reader, slice_idx);

        if (info->n_events > t->n_events_left || (info->n_events && !info->has_events))
                return false;
        load_held(t, s);
        if (!replay_slice(t->q, s, slice_idx, &limits, take_step, t))
                return false;
        state_join_ended(t->q, s, info->end_ns);
        t->n_events_left -= info->n_events;
        while (t->column < t->h->n_columns && column_end_ns(t, t->column) < info->end_ns)
                fill_column(t, column_end_ns(t, t->column));
        return true;
}

/* Columns that end inside a slice whose events are not read: those nearer to its begin. */
static void tell_begin(struct telling *t, const struct state *s,
                       const struct trace_slice_info *info) {
        bool is_loaded = false;

        for (uint64_t end_ns; t->column < t->h->n_columns;) {
                end_ns = column_end_ns(t, t->column);
                if (end_ns >= info->end_ns || end_ns - info->begin_ns > info->end_ns - end_ns)
                        break;
                if (!is_loaded)
                        load_held(t, s);
                is_loaded = true;
                fill_column(t, info->begin_ns);
        }
}

static void tell_slice(struct telling *t, struct state *s, size_t slice_idx) {
        const struct trace_slice_info *info = trace_slice(t->q->reader, slice_idx);
        uint64_t end_ns = column_end_ns(t, t->column);
        bool is_loaded = false;

        while (end_ns <= info->begin_ns) { /* it ends with the slice before, which was skipped */
                load_held(t, s);
                fill_column(t, end_ns);
                if (t->column == t->h->n_columns)
                        return;
                end_ns = column_end_ns(t, t->column);
        }
        if (end_ns >= info->end_ns || !tell_inside(t, s, slice_idx)) {
                tell_begin(t, s, info);
                state_add_slice(t->q, s, slice_idx);
        }
        /* those that end with it, and those inside it that are nearer to its end */
        while (t->column < t->h->n_columns && column_end_ns(t, t->column) <= info->end_ns) {
                if (!is_loaded)
                        load_held(t, s);
                is_loaded = true;
                fill_column(t, info->end_ns);
        }
}

/* Goes on to the slice in which the next column ends: over a checkpoint where that is shorter than through all slices
 * between. Where checkpoints stand much closer than columns, the one before is near enough. */
static size_t skip_slices(struct telling *t, struct state *s, size_t slice_idx) {
        const struct trace_view *v = t->q->view;
        size_t next = query_slice_at(t->q, column_end_ns(t, t->column));
        size_t per_checkpoint = v->n_slices / (v->n_checkpoints + 1) + 1;
        size_t per_column = next > slice_idx ? next - slice_idx : 0;

        if (next <= slice_idx + 2 * per_checkpoint || next >= v->n_slices)
                return slice_idx;
        state_done(s);
        begin_state(t, s);
        if (t->is_rough && per_column > 3 * per_checkpoint) {
                size_t at = state_load_checkpoint(t->q, s, next);

                if (at > slice_idx) {
                        load_held(t, s);
                        fill_column(t, trace_slice(t->q->reader, at)->begin_ns);
                        return at;
                }
                state_done(s);
                begin_state(t, s);
        }
        state_load(t->q, s, next);
        return next;
}

static void tell_slices(struct telling *t) {
        size_t slice_idx = query_slice_at(t->q, t->scope.from_ns);
        struct state s;

        if (is_all(t))
                inherited_load(t->q);
        load_before(t);
        begin_state(t, &s);
        state_load(t->q, &s, slice_idx);
        for (; slice_idx < t->q->view->n_slices && t->column < t->h->n_columns; slice_idx++) {
                slice_idx = skip_slices(t, &s, slice_idx);
                if (t->column < t->h->n_columns)
                        tell_slice(t, &s, slice_idx);
                if (!query_go_on(t->q, slice_idx + 1, t->q->view->n_slices))
                        break;
        }
        load_held(t, &s);
        while (t->column < t->h->n_columns) /* behind the last slice nothing changes but ends */
                fill_column(t, column_end_ns(t, t->column));
        state_done(&s);
}

/* ---- block by block -------------------------------------------------------------------------- */

/* The first column that ends behind time_ns. */
static size_t column_behind(const struct telling *t, uint64_t time_ns) {
        size_t low = 0, high = t->h->n_columns;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (column_end_ns(t, mid) <= time_ns)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void add_change(struct telling *t, int64_t *row, size_t column, uint64_t value) {
        if (column < t->h->n_columns)
                add(&row[column], value);
}

/* Where a block begins and ends to be live is noted as a change; adding them up comes last. */
static bool take_life(void *ctx, const struct query_life *l) {
        struct telling *t = ctx;
        size_t row = rank_of_key(t, group_keys_of_life(&t->keys, l)) * t->h->n_columns;
        uint64_t begin_ns = l->begin_ns;
        size_t first, end;

        if (l->is_inherited) {
                if (is_all(t)) { /* counted where it was allocated */
                        if (life_is_released_in(l, &t->scope))
                                add_change(t, &t->h->n_frees[row], column_behind(t, l->end_ns),
                                           l->n_blocks);
                        return true;
                }
                begin_ns = MAX(begin_ns, t->q->view->processes[l->process].start.start_ns);
        }
        first = column_behind(t, begin_ns);
        end = column_behind(t, is_all(t) ? MIN(l->end_ns, query_process_gone_ns(t->q, l->process))
                                         : l->end_ns);
        if (life_is_allocated_in(l, &t->scope))
                add_change(t, &t->h->n_allocs[row], first, l->n_blocks);
        if (life_is_released_in(l, &t->scope))
                add_change(t, &t->h->n_frees[row], column_behind(t, l->end_ns), l->n_blocks);
        if (first >= end)
                return true;
        add_change(t, &t->h->live_bytes[row], first, life_bytes(l));
        add_change(t, &t->h->live_blocks[row], first, l->n_blocks);
        add_change(t, &t->h->live_bytes[row], end, 0 - life_bytes(l));
        add_change(t, &t->h->live_blocks[row], end, 0 - (uint64_t)l->n_blocks);
        return true;
}

static void sum_up(const struct telling *t, int64_t *values) {
        for (size_t rank = 0; rank < t->n_ranks; rank++)
                for (size_t c = 1; c < t->h->n_columns; c++)
                        add(&values[rank * t->h->n_columns + c],
                            (uint64_t)values[rank * t->h->n_columns + c - 1]);
}

static int tell_lives(struct telling *t, struct err *reterr) {
        int r = life_scan(t->q, &t->scope, LIFE_NO_PEAK, take_life, t, NULL, reterr);

        for (size_t c = 0; c < t->h->n_columns; c++)
                t->h->at_ns[c] = column_end_ns(t, c);
        sum_up(t, t->h->live_bytes);
        sum_up(t, t->h->live_blocks);
        sum_up(t, t->h->n_allocs);
        sum_up(t, t->h->n_frees);
        return r;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void take_mapping(void *ctx, const struct mapping_change *c) {
        struct telling *t = ctx;
        uint32_t rank = c->range->is_reserved ? (uint32_t)RANK_OUTSIDE
                                              : rank_of_site(t, c->process, c->range->stack);

        if (rank == RANK_OUTSIDE)
                return;
        add(&t->held[rank].bytes, (uint64_t)c->by_bytes);
        add(&t->held[rank].blocks, (uint64_t)(int64_t)c->n_ranges);
}

/* Of calls nothing is told by group: they are few. */
static int tell_mappings(struct telling *t, struct err *reterr) {
        struct query_history *h = t->h;
        struct mapping_walk w;
        int r = mapping_walk_init(&w, t->q, &t->scope, reterr);

        if (r < 0)
                return r;
        w.ctx = t;
        w.change = take_mapping;
        for (size_t c = 0; c < h->n_columns; c++) {
                h->at_ns[c] = column_end_ns(t, c);
                mapping_walk_to(&w, h->at_ns[c]);
                for (size_t rank = 0; rank < t->n_ranks; rank++) {
                        h->live_bytes[rank * h->n_columns + c] = t->held[rank].bytes;
                        h->live_blocks[rank * h->n_columns + c] = t->held[rank].blocks;
                }
        }
        mapping_walk_done(&w);
        return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint32_t rank_of_tick(struct telling *t, const struct trace_tick *tick) {
        if (t->keys.by == QUERY_BY_THREAD)
                return rank_of_key(t, tick->thread);
        return rank_of_site(t, t->q->view->threads[tick->thread].start.process, tick->stack);
}

static bool take_tick(void *ctx, const struct trace_tick *tick) {
        struct telling *t = ctx;
        uint32_t rank = rank_of_tick(t, tick);
        size_t column = MIN(column_behind(t, tick->time_ns), t->h->n_columns - 1), i;

        if (rank == RANK_OUTSIDE)
                return true;
        i = rank * t->h->n_columns + column;
        if (t->ends_ns)
                add(&t->h->live_bytes[i], tick->weight_ns);
        add(&t->h->live_blocks[i], tick->n_samples);
        add(&t->h->n_allocs[i], tick->n_samples);
        return true;
}

static void take_part(void *ctx, const struct trace_tick *tick, size_t column, double ns) {
        struct telling *t = ctx;
        uint32_t rank = rank_of_tick(t, tick);

        if (rank != RANK_OUTSIDE)
                add(&t->h->live_bytes[rank * t->h->n_columns + column], unit_nearest(ns));
}

/* Time is never held: a column has what passed in it, in columns of equal length also of a wait that ends in another. */
static int tell_time(struct telling *t, struct err *reterr) {
        int r = query_each_tick(t->q, &t->scope, take_tick, t, reterr);

        if (r >= 0 && !t->ends_ns)
                r = time_each_part(t->q, &t->scope, t->h->n_columns, take_part, t, reterr);
        for (size_t c = 0; c < t->h->n_columns; c++)
                t->h->at_ns[c] = column_end_ns(t, c);
        sum_up(t, t->h->n_allocs);
        return r;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t n_rows_told(const struct query_groups *g, size_t n_wanted) {
        size_t n = 0;

        while (n < MIN(n_wanted, g->n) &&
               query_figure_of(&g->rows[n].self, g->options.metric).value != 0)
                n++;
        return n;
}

static void *zeroed(size_t n, size_t size_bytes) {
        void *p = calloc(n + 1, size_bytes);

        if (!p)
                abort();
        return p;
}

static int tell(struct telling *t, struct err *reterr) {
        struct query_history *h = t->h;
        size_t n;

        t->n_ranks = h->n_groups + 1;
        n = t->n_ranks * h->n_columns;
        h->at_ns = zeroed(h->n_columns, sizeof(h->at_ns[0]));
        h->live_bytes = zeroed(n, sizeof(h->live_bytes[0]));
        h->live_blocks = zeroed(n, sizeof(h->live_blocks[0]));
        h->n_allocs = zeroed(n, sizeof(h->n_allocs[0]));
        h->n_frees = zeroed(n, sizeof(h->n_frees[0]));
        t->held = zeroed(n_held_processes(t) * t->n_ranks, sizeof(t->held[0]));
        t->before = zeroed(t->n_ranks, sizeof(t->before[0]));
        if (h->n_columns == 0)
                return 0;
        begin_ranks(t);
        if (t->scope.of_mappings)
                return tell_mappings(t, reterr);
        if (t->scope.of_time)
                return tell_time(t, reterr);
        if (group_is_by_block(t->keys.by) || query_filter_needs_events(t->scope.filter))
                return tell_lives(t, reterr);
        tell_slices(t);
        return 0;
}

static int ask(struct query *q, const struct query_scope *scope,
               const struct query_group_options *o, size_t n_groups, size_t n_columns,
               uint64_t max_events, bool is_by_work, const struct query_history *again,
               struct query_history **ret, struct err *reterr) {
        _cleanup_(query_history_freep) struct query_history *h = calloc(1, sizeof(*h));
        struct query_group_options by_self = *o;
        struct telling t = {.q = q,
                            .h = h,
                            .n_events_left = max_events,
                            .is_rough = max_events == 0};
        int r;

        if (!h)
                abort();
        by_self.by_total = false; /* only so do rows add up */
        if (again) {
                h->groups = again->groups;
                h->shares_groups = true;
        } else {
                r = query_group(q, scope, &by_self, &h->groups, reterr);
                if (r < 0)
                        return r;
        }
        h->n_groups = n_rows_told(h->groups, n_groups);
        h->n_columns = n_columns;
        t.scope = h->groups->answer->scope;
        t.scope.to_ns = MAX(MIN(t.scope.to_ns, q->view->end_ns), t.scope.from_ns + 1);
        if (is_by_work) {
                t.ends_ns = zeroed(n_columns, sizeof(t.ends_ns[0]));
                work_column_ends(q, &t.scope, n_columns, max_events, t.ends_ns);
        }
        group_keys_init(&t.keys, q, &by_self);
        r = pick_get(q, t.scope.filter, &t.pick, reterr);
        if (r >= 0)
                r = tell(&t, reterr);
        if (r >= 0)
                r = query_end(q, reterr);
        group_keys_done(&t.keys);
        map_done(&t.rank_of_key);
        free(t.rank_of_stack);
        free(t.held);
        free(t.before);
        free(t.ends_ns);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(h);
        return 0;
}

int query_history(struct query *q, const struct query_scope *scope,
                  const struct query_group_options *o, size_t n_groups, size_t n_columns,
                  uint64_t max_events, struct query_history **ret, struct err *reterr) {
        return ask(q, scope, o, n_groups, n_columns, max_events, false, NULL, ret, reterr);
}

int query_history_by_work(struct query *q, const struct query_history *of, uint64_t max_events,
                          struct query_history **ret, struct err *reterr) {
        return ask(q, &of->groups->answer->scope, &of->groups->options, of->n_groups, of->n_columns,
                   max_events, true, of, ret, reterr);
}

struct query_history *query_history_free(struct query_history *h) {
        if (!h)
                return NULL;
        if (!h->shares_groups)
                query_groups_free(h->groups);
        free(h->at_ns);
        free(h->live_bytes);
        free(h->live_blocks);
        free(h->n_allocs);
        free(h->n_frees);
        free(h);
        return NULL;
}
