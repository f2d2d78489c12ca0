/* SPDX-License-Identifier: MIT */
#include "replay/recorded_ops.h"

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "query/cursor.h"
#include "replay/slot_table.h"

enum { ALL_PARTS = 65536 };

/* One line why the events of this trace cannot be replayed. */
static int check_events(struct query *q, struct err *reterr) {
        const struct trace_view *v = query_view(q);
        struct unit_text t;

        if (v->meta.flags & TRACE_IS_TOTALS)
                return err_set(
                        reterr, -ENODATA,
                        "nothing to replay: the file has totals and no single allocations: record the program with 'silt run'");
        if (v->meta.flags & TRACE_IS_SAMPLED)
                return err_set(
                        reterr, -ENODATA,
                        "nothing to replay: the recording is of samples: record without --sample");
        if (v->detail_from_ns)
                return err_set(
                        reterr, -ENODATA,
                        "nothing to replay: single allocations before %s were dropped to keep the file small: record with a larger --max-size",
                        unit_duration(&t, v->detail_from_ns));
        return 0;
}

/* ---- events to operations ---------------------------------------------------------------------- */

struct walk {
        struct recorded_ops *o;
        recorded_op_fn fn;
        void *ctx;
        struct slot_table slots;
        VEC(uint32_t) numbers; /* by thread of the trace: its number + 1; 0: none yet */
        uint32_t n_numbers;
        uint32_t turn; /* the number whose turn it is */
        uint32_t
                turn_owner; /* that thread of the trace; TRACE_NO_THREAD: the first one's, whoever that is */
        uint64_t time_us, n_ops;
        bool is_scan;
};

static int tell(struct walk *w, const struct op *op) {
        return w->fn(w->ctx, op);
}

static int tell_time(struct walk *w, uint64_t time_ns) {
        uint64_t time_us = time_ns > w->o->begin_ns ? (time_ns - w->o->begin_ns) / 1000 : 0;
        struct op op = {.tag = OP_TIME};

        if (time_us <= w->time_us)
                return 0;
        op.time_us = time_us - w->time_us;
        w->time_us = time_us;
        return tell(w, &op);
}

/* The first thread of a process is number 0, whenever it turns up. */
static uint32_t number_of(struct walk *w, uint32_t thread) {
        const struct trace_view *v = query_view(w->o->q);

        if (thread >= v->n_threads ||
            v->threads[thread].start.tid == v->processes[w->o->process].start.pid ||
            (!v->processes[w->o->process].start.pid && !thread)) /* of a tool that knows no pids */
                return 0;
        while (w->numbers.n <= thread)
                vec_push(&w->numbers, 0);
        if (!w->numbers.items[thread])
                w->numbers.items[thread] = ++w->n_numbers + 1;
        return w->numbers.items[thread] - 1;
}

/* The thread that had the turn is gone when it has no operation left. */
static int end_last_turn(struct walk *w, uint32_t was, uint32_t owner) {
        if (w->is_scan || was == 0 || owner >= w->o->last_ops.n ||
            w->o->last_ops.items[owner] > w->n_ops)
                return 0;
        return tell(w, &(struct op){.tag = OP_THREAD_END, .thread = was});
}

static int take_turn(struct walk *w, uint32_t thread) {
        uint32_t number = number_of(w, thread), was = w->turn, owner = w->turn_owner;
        int r;

        if (number == was)
                return 0;
        w->turn = number;
        w->turn_owner = thread;
        r = tell(w, &(struct op){.tag = OP_THREAD, .thread = number});
        return r < 0 ? r : end_last_turn(w, was, owner);
}

/* What of a new block is touched. */
static uint64_t touched_of(struct walk *w, uint32_t stack, uint64_t size_bytes) {
        struct recorded_ops *o = w->o;
        uint64_t parts, bytes = size_bytes;

        if (size_bytes < TRACE_LARGE_BLOCK_BYTES)
                return bytes;
        if (map_get(&o->touched, stack, &parts)) {
                bytes = (uint64_t)((unsigned __int128)size_bytes * parts / ALL_PARTS);
                o->looked_bytes += w->is_scan ? size_bytes : 0;
                o->touched_bytes += w->is_scan ? bytes : 0;
        } else {
                o->unlooked_bytes += w->is_scan ? size_bytes : 0;
        }
        return bytes;
}

static int tell_block(struct walk *w, enum op_tag tag, uint32_t slot, uint32_t stack,
                      uint64_t size_bytes) {
        struct op op = {.tag = tag, .slot = slot, .size_bytes = size_bytes};

        op.touched_bytes = touched_of(w, stack, size_bytes);
        if (tag == OP_ALLOC && op.touched_bytes != size_bytes)
                op.tag = OP_ALLOC_PART;
        return tell(w, &op);
}

static int tell_release(struct walk *w, uint64_t seq) {
        struct op op = {.tag = OP_FREE};

        if (slot_table_remove(&w->slots, seq, &op.slot))
                return tell(w, &op);
        w->o->n_skipped_frees += w->is_scan;
        return 0;
}

static int tell_event(struct walk *w, const struct trace_event *e) {
        uint32_t slot;

        switch ((enum trace_op)e->op) {
        case TRACE_ALLOC:
                return tell_block(w, OP_ALLOC, slot_table_add(&w->slots, e->seq), e->stack,
                                  e->size_bytes);
        case TRACE_REALLOC:
                if (slot_table_replace(&w->slots, e->old_seq, e->seq, &slot))
                        return tell_block(w, OP_REALLOC, slot, e->stack, e->size_bytes);
                w->o->n_skipped_frees += w->is_scan;
                return tell_block(w, OP_ALLOC, slot_table_add(&w->slots, e->seq), e->stack,
                                  e->size_bytes);
        default: return tell_release(w, e->seq);
        }
}

static bool is_operation(const struct trace_event *e) {
        if (e->op == TRACE_OTHER)
                return e->other == TRACE_IMPLICIT_FREE;
        return (e->op == TRACE_FREE || e->size_bytes <= OP_MAX_BLOCK_BYTES) &&
               e->thread != TRACE_NO_THREAD;
}

static int walk_event(struct walk *w, const struct trace_event *e) {
        int r;

        if (!is_operation(e))
                return 0;
        w->n_ops++;
        if (w->is_scan && e->thread != TRACE_NO_THREAD) {
                while (w->o->last_ops.n <= e->thread)
                        vec_push(&w->o->last_ops, 0);
                w->o->last_ops.items[e->thread] = w->n_ops;
        }
        r = tell_time(w, e->time_ns);
        /* before its own operation counts as done: the one before may have been another thread's last */
        if (r >= 0)
                r = take_turn(w, e->thread);
        return r < 0 ? r : tell_event(w, e);
}

static int walk_inherited(struct walk *w) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < w->o->inherited.n; i++) {
                const struct query_block *b = &w->o->inherited.items[i];

                r = tell_block(w, OP_ALLOC, slot_table_add(&w->slots, b->seq), b->stack,
                               b->size_bytes);
        }
        return r;
}

static int walk_all(struct walk *w, struct err *reterr) {
        struct query_scope scope = {.process = w->o->process, .to_ns = UINT64_MAX};
        _cleanup_(query_cursor_freep) struct query_cursor *c = NULL;
        const struct query_row *row;
        int r = query_cursor_open(w->o->q, &scope, QUERY_ROWS_EVENTS, &c, reterr);

        if (r >= 0)
                r = walk_inherited(w);
        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0)
                r = walk_event(w, row->event.event);
        if (r >= 0)
                w->o->is_exact = query_cursor_is_exact(c);
        w->o->n_slots = w->slots.n_slots;
        slot_table_done(&w->slots);
        vec_free(&w->numbers);
        return r;
}

int recorded_ops_each(struct recorded_ops *o, recorded_op_fn fn, void *ctx, struct err *reterr) {
        struct walk w = {.o = o, .fn = fn, .ctx = ctx, .turn_owner = TRACE_NO_THREAD};

        return walk_all(&w, reterr);
}

/* ---- the first pass ---------------------------------------------------------------------------- */

struct count {
        struct recorded_ops *o;
        VEC(uint64_t) sizes; /* by slot */
        uint64_t time_us;
};

static void count_live(struct count *c, uint64_t more, uint64_t less) {
        struct recorded_ops *o = c->o;

        o->live_bytes += more - less;
        if (o->live_bytes > o->peak_live_bytes) {
                o->peak_live_bytes = o->live_bytes;
                o->peak_live_blocks = o->live_blocks;
                o->peak_ns = o->begin_ns + c->time_us * 1000;
        }
}

static int count_op(void *ctx, const struct op *op) {
        struct count *c = ctx;
        struct recorded_ops *o = c->o;

        switch (op->tag) {
        case OP_TIME: c->time_us += op->time_us; break;
        case OP_THREAD: o->n_threads = MAX(o->n_threads, op->thread + 1); break;
        case OP_ALLOC:
        case OP_ALLOC_PART:
                while (c->sizes.n <= op->slot)
                        vec_push(&c->sizes, 0);
                o->n_allocs++;
                o->live_blocks++;
                count_live(c, op->size_bytes, 0);
                break;
        case OP_FREE:
                o->n_frees++;
                o->live_blocks--;
                count_live(c, 0, c->sizes.items[op->slot]);
                return 0;
        case OP_REALLOC:
                o->n_reallocs++;
                count_live(c, op->size_bytes, c->sizes.items[op->slot]);
                break;
        default: return 0;
        }
        if (op->tag != OP_TIME && op->tag != OP_THREAD)
                c->sizes.items[op->slot] = op->size_bytes;
        return 0;
}

static bool keep_inherited(void *ctx, const struct query_block *b) {
        struct recorded_ops *o = ctx;

        vec_push(&o->inherited, *b);
        o->n_inherited++;
        o->inherited_bytes += b->size_bytes;
        return true;
}

static int by_seq(const void *x, const void *y) {
        const struct query_block *a = x, *b = y;

        return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int read_inherited(struct recorded_ops *o, struct err *reterr) {
        const struct trace_process *p = &query_view(o->q)->processes[o->process].start;
        struct query_scope scope = {.process = o->process, .to_ns = UINT64_MAX};
        bool is_exact = true;
        int r;

        if (p->parent == TRACE_NO_PROCESS || p->image > 1)
                return 0;
        r = query_held_blocks(o->q, &scope, keep_inherited, o, &is_exact, reterr);
        if (o->inherited.n)
                qsort(o->inherited.items, o->inherited.n, sizeof(o->inherited.items[0]), by_seq);
        return r;
}

static int read_touched(struct recorded_ops *o, struct err *reterr) {
        struct query_scope scope = {.process = o->process, .to_ns = UINT64_MAX};
        struct query_residency *rows = NULL;
        size_t n = 0;
        int r = query_residency(o->q, &scope, &rows, &n, reterr);

        for (size_t i = 0; r >= 0 && i < n; i++)
                if (rows[i].seen_bytes)
                        *map_put(&o->touched, rows[i].stack, 0, NULL) =
                                (uint64_t)((unsigned __int128)MIN(rows[i].seen_touched_bytes,
                                                                  rows[i].seen_bytes) *
                                           ALL_PARTS / rows[i].seen_bytes);
        free(rows);
        return r;
}

int recorded_ops_scan(struct recorded_ops *o, struct query *q, uint32_t process,
                      struct err *reterr) {
        struct walk w = {.o = o, .fn = count_op, .turn_owner = TRACE_NO_THREAD, .is_scan = true};
        struct count c = {.o = o};
        uint64_t end_ns;
        int r;

        *o = (struct recorded_ops){.q = q, .process = process, .n_threads = 1};
        o->begin_ns = query_view(q)->processes[process].start.start_ns;
        end_ns = query_run_end_ns(q, process);
        o->duration_us = end_ns > o->begin_ns ? (end_ns - o->begin_ns) / 1000 : 0;
        r = check_events(q, reterr);
        if (r >= 0)
                r = read_touched(o, reterr);
        if (r >= 0)
                r = read_inherited(o, reterr);
        w.ctx = &c;
        if (r >= 0)
                r = walk_all(&w, reterr);
        vec_free(&c.sizes);
        return r;
}

void recorded_ops_done(struct recorded_ops *o) {
        vec_free(&o->last_ops);
        vec_free(&o->inherited);
        map_done(&o->touched);
}
