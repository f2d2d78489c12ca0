/* SPDX-License-Identifier: MIT */
/* Random events, forks, execs and ends. */
#include "query/testing/fabric_core.h"

static struct fabric_thread *any_thread(struct fabric *f, struct fabric_process *p) {
        if (p->threads.n == 0 || (p->threads.n < f->o.max_threads && fabric_draw(f, 50) == 0))
                fabric_add_thread(f, p,
                                  !f->o.with_names || p->threads.n == 0 ? NULL
                                  : p->threads.n % 2                    ? "worker-even"
                                                                        : "worker-odd");
        return &p->threads.items[fabric_draw(f, p->threads.n)];
}

static uint64_t draw_size(struct fabric *f) {
        return fabric_draw(f, 20) == 0 ? fabric_draw(f, 100000) : fabric_draw(f, 200);
}

static void do_alloc(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        uint64_t size_bytes = draw_size(f);

        fabric_put_alloc(f, p, t, f->stacks[fabric_draw(f, f->o.n_stacks)], size_bytes);
}

/* Often the newest block, so that temporaries happen. */
static struct live_block *any_block(struct fabric *f, struct fabric_process *p) {
        return &p->live.items[fabric_draw(f, 2) ? p->live.n - 1 : fabric_draw(f, p->live.n)];
}

static void do_free(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);

        fabric_put_free(f, p, t, any_block(f, p), 0);
}

static void do_realloc(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        struct live_block *old = any_block(f, p);
        struct live_block b = {.size_bytes = draw_size(f),
                               .stack = f->stacks[fabric_draw(f, f->o.n_stacks)],
                               .thread = t->id,
                               .time_ns = f->time_ns};

        if (f->maker) {
                fabric_made_realloc(f, p, t, old, b.stack, b.size_bytes);
                return;
        }
        b.seq = trace_put_realloc(f->w, t->id, f->time_ns, old->seq, old->stack, old->size_bytes,
                                  b.stack, b.size_bytes, 0);
        p->slice.n_frees++;
        p->slice.n_reallocs++;
        fabric_move_realloc(f, p, t, old, &b);
        fabric_count_release(f, p, old, t->last_seq == old->seq + 1);
        t->last_seq = b.seq + 1;
        vec_push(&p->live, b);
        fabric_count_alloc(f, p, b.stack, b.size_bytes);
        fabric_site_at(f, p->id, b.stack)->slice.n_reallocs++;
}

static void do_other(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        enum trace_other other = (enum trace_other)fabric_draw(f, 6);
        struct live_block *b;

        if (other == TRACE_IMPLICIT_FREE) {
                if (p->live.n == 0)
                        return;
                b = any_block(f, p);
                if (f->maker) {
                        fabric_made_replace(f, p, t, b, f->stacks[fabric_draw(f, f->o.n_stacks)],
                                            b->size_bytes / 2);
                        return;
                }
                trace_put_other(f->w, t->id, f->time_ns, other, b->size_bytes, b->seq, b->stack);
                p->slice.n_implicit_frees++;
                fabric_count_release(f, p, b, false);
                return;
        }
        if (f->maker) {
                fabric_made_other(f, t, other);
                return;
        }
        trace_put_other(f->w, t->id, f->time_ns, other, 3, 0, 0);
        switch (other) {
        case TRACE_UNKNOWN_FREE: p->slice.n_unknown_frees++; break;
        case TRACE_PRIOR_FREE: p->slice.n_prior_frees++; break;
        case TRACE_FAILED: p->slice.n_failed++; break;
        case TRACE_LOST: p->slice.n_lost += 3; break;
        default: p->slice.n_wrong_sizes++; break;
        }
}

/* ---- processes ------------------------------------------------------------------------------- */

uint32_t fabric_fork(struct fabric *f, uint32_t parent) {
        uint32_t child;
        struct fabric_process *from, *to;

        f->time_ns +=
                1000; /* a moment of its own: events of the same microsecond have no order to it */
        child = fabric_add_process(f, f->next_pid++, parent, 1, true);
        from = &f->processes.items[parent];
        to = &f->processes.items[child];
        to->heir_of = parent + 1;
        for (size_t i = 0; i < from->live.n; i++) {
                struct live_block b = from->live.items[i];
                struct fabric_site *s;

                b.inherited = true;
                vec_push(&to->live, b);
                if (f->maker)
                        continue;
                s = fabric_site_at(f, child, b.stack);
                to->live_bytes += b.size_bytes;
                s->slice.n_inherited++;
                s->slice.inherited_bytes += b.size_bytes;
                s->now_bytes += (int64_t)b.size_bytes, s->now_blocks++;
        }
        fabric_note_peak(f, to);
        f->time_ns += 1000;
        return child;
}

static void do_exec(struct fabric *f, uint32_t process) {
        struct fabric_process *p = &f->processes.items[process];
        uint32_t pid = p->pid, image = p->image;

        if (!f->has_two) { /* the end of the only process must come when there are two */
                fabric_fork(f, process);
                p = &f->processes.items[process];
        }
        fabric_end_process(f, p, TRACE_ENDED_EXEC);
        fabric_add_process(f, pid, process, image + 1, false);
}

static struct fabric_process *any_process(struct fabric *f) {
        for (;;) {
                struct fabric_process *p = &f->processes.items[fabric_draw(f, f->processes.n)];

                if (!p->is_over)
                        return p;
        }
}

static size_t n_alive(const struct fabric *f) {
        size_t n = 0;

        for (size_t i = 0; i < f->processes.n; i++)
                n += !f->processes.items[i].is_over;
        return n;
}

static void do_process_life(struct fabric *f) {
        uint32_t process = any_process(f)->id;

        switch (fabric_draw(f, 3)) {
        case 0:
                if (f->processes.n < f->o.max_processes)
                        fabric_fork(f, process);
                break;
        case 1:
                if (f->processes.n + 1 < f->o.max_processes)
                        do_exec(f, process);
                break;
        default:
                if (n_alive(f) > 1)
                        fabric_end_process(f, &f->processes.items[process], TRACE_ENDED_EXIT);
                break;
        }
}

void fabric_run(struct fabric *f, unsigned n_events) {
        for (unsigned i = 0; i < n_events; i++) {
                struct fabric_process *p;
                uint64_t what = fabric_draw(f, 100);

                f->time_ns += fabric_draw(f, f->o.max_step_us + 1) * 1000;
                if (f->o.max_processes > 1 && fabric_draw(f, 60) == 0)
                        do_process_life(f);
                p = any_process(f);
                fabric_touch(p);
                if (what < 2)
                        do_other(f, p);
                else if (what < 50 || p->live.n == 0)
                        do_alloc(f, p);
                else if (what < 60)
                        do_realloc(f, p);
                else
                        do_free(f, p);
                fabric_note_peak(f, p);
                if (++f->n_slice_events >=
                    f->o.slice_events / 2 + fabric_draw(f, f->o.slice_events))
                        fabric_end_slice(f);
        }
}
