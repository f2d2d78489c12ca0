/* SPDX-License-Identifier: MIT */
#include "query/testing/brute_lives.h"

#include <stdlib.h>

#include "query/testing/brute.h"

static void step(struct brute_lives *b, uint64_t time_ns, uint32_t process) {
        struct step s = {time_ns, b->processes[process].bytes, 0, process};

        for (size_t p = 0; p < b->v->n_processes; p++)
                s.all_bytes += b->processes[p].is_dead ? 0 : b->processes[p].own_bytes;
        vec_push(&b->steps, s);
}

static void add_copy(struct brute_lives *b, struct copy c) {
        struct process_state *p = &b->processes[c.process];

        c.born_step = b->steps.n;
        c.died_step = c.died_ns = UINT64_MAX;
        c.place = p->live.n;
        vec_push(&p->live, b->copies.n);
        vec_push(&b->copies, c);
        *map_put(&p->copies, c.seq, 0, NULL) = b->copies.n;
        p->bytes += c.size_bytes;
        p->own_bytes += c.owner == c.process ? c.size_bytes : 0;
}

/* Blocks of one stack, so that sums of many stacks differ if one does. */
static uint64_t sum_of(uint32_t stack, uint64_t n_blocks, uint64_t bytes) {
        uint64_t mixed = (stack + 1) * UINT64_C(0x9e3779b97f4a7c15);

        return n_blocks * mixed + bytes * (mixed >> 7 | 1);
}

static void note_heritage(struct brute_lives *b, uint32_t process) {
        const struct process_state *parent = &b->processes[b->v->processes[process].start.parent];
        struct process_state *p = &b->processes[process];

        p->has_heritage = true;
        for (size_t i = 0; i < parent->live.n; i++)
                vec_push(&p->heritage, b->copies.items[parent->live.items[i]]);
}

/* Whether what it inherited may be what its parent has after the next event. */
static bool may_yet_match(const struct brute_lives *b, uint32_t process, uint64_t time_ns) {
        const struct process_state *p = &b->processes[process];
        const struct trace_process *start = &b->v->processes[process].start;

        return p->inherits && !p->has_heritage && start->parent < b->v->n_processes &&
               time_ns / 1000 == start->start_ns / 1000;
}

/* Events have their time in microseconds, and a process may have been forked between two of the same: what it inherited says
 * between which. */
static void look_at_fork(struct brute_lives *b, uint32_t process, uint64_t time_ns) {
        const struct trace_process *start = &b->v->processes[process].start;
        struct process_state *p = &b->processes[process];
        uint64_t sum = 0;

        if (!may_yet_match(b, process, time_ns))
                return;
        for (size_t i = 0; i < b->processes[start->parent].live.n; i++) {
                const struct copy *c = &b->copies.items[b->processes[start->parent].live.items[i]];

                sum += sum_of(c->stack, 1, c->size_bytes);
        }
        if (sum == p->inherited_sum)
                note_heritage(b, process);
}

static void begin_process(struct brute_lives *b, uint32_t process, uint64_t time_ns) {
        const struct trace_process *start = &b->v->processes[process].start;
        struct process_state *p = &b->processes[process];

        p->has_begun = true;
        if (!p->inherits || start->parent >= b->v->n_processes)
                return;
        if (!p->has_heritage)
                note_heritage(b, process);
        for (size_t i = 0; i < p->heritage.n; i++) {
                struct copy c = p->heritage.items[i];

                c.process = process;
                c.born_ns = MIN(time_ns, start->start_ns);
                add_copy(b, c);
        }
        step(b, MIN(time_ns, start->start_ns), process);
}

static void live_and_die(struct brute_lives *b, uint64_t time_ns, uint32_t also) {
        for (size_t i = 0; i < b->v->n_processes; i++) {
                uint32_t p = b->by_start[i];
                const struct trace_process_info *info = &b->v->processes[p];

                if (brute_is_gone(b->v, p, time_ns))
                        b->processes[p].is_dead = true;
                if (b->processes[p].has_begun)
                        continue;
                look_at_fork(b, p, time_ns);
                if (p == also || (info->start.start_ns <= time_ns && !may_yet_match(b, p, time_ns)))
                        begin_process(b, p, time_ns);
        }
}

static void release(struct brute_lives *b, uint32_t process, const struct trace_event *e,
                    uint64_t seq) {
        struct process_state *p = &b->processes[process];
        uint64_t idx = *map_put(&p->copies, seq, 0, NULL);
        struct copy *c;

        if (idx == 0)
                abort(); /* released what is not there */
        c = &b->copies.items[idx - 1];
        c->died_step = b->steps.n;
        c->died_ns = e->time_ns;
        c->is_temporary = e->op != TRACE_OTHER && b->last_seq[e->thread] == seq + 1;
        p->bytes -= c->size_bytes;
        p->own_bytes -= c->owner == process ? c->size_bytes : 0;
        p->live.items[c->place] = p->live.items[--p->live.n];
        b->copies.items[p->live.items[c->place]].place = c->place;
}

static void on_event(struct brute_lives *b, const struct trace_event *e) {
        uint32_t process;

        if (e->thread >= b->v->n_threads)
                return;
        process = b->v->threads[e->thread].start.process;
        live_and_die(b, e->time_ns, process);
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                release(b, process, e, e->seq);
        if (e->op == TRACE_REALLOC)
                release(b, process, e, e->old_seq);
        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) {
                add_copy(b, (struct copy){.seq = e->seq,
                                          .size_bytes = e->size_bytes,
                                          .begin_ns = e->time_ns,
                                          .born_ns = e->time_ns,
                                          .stack = e->stack,
                                          .thread = e->thread,
                                          .process = process,
                                          .owner = process,
                                          .by_realloc = e->op == TRACE_REALLOC});
                b->last_seq[e->thread] = e->seq + 1;
        }
        if (e->op == TRACE_OTHER && e->other == TRACE_LOST)
                vec_push(&b->lost, (struct lost){e->time_ns, e->size_bytes, process});
        step(b, e->time_ns, process);
}

/* Events do not say whether a new process is a copy of its parent. */
static int find_heirs(struct brute_lives *b, struct err *reterr) {
        for (size_t i = 0; i < b->v->n_slices; i++) {
                const struct trace_site *rows;
                size_t n;
                int r = trace_read_sites(b->t, i, &rows, &n, reterr);

                if (r < 0)
                        return r;
                for (size_t k = 0; k < n; k++)
                        if (rows[k].n_inherited > 0) {
                                b->processes[rows[k].process].inherits = true;
                                b->processes[rows[k].process].inherited_sum +=
                                        sum_of(rows[k].stack, rows[k].n_inherited,
                                               rows[k].inherited_bytes);
                                b->processes[rows[k].process].seen_ns =
                                        trace_slice(b->t, i)->begin_ns;
                        }
        }
        return 0;
}

void brute_lives_move_edge(const struct brute_lives *b, uint64_t *time_ns) {
        for (size_t p = 0; p < b->v->n_processes; p++) {
                uint64_t seen_ns = b->processes[p].seen_ns;

                if (b->v->processes[p].start.start_ns < *time_ns && *time_ns <= seen_ns)
                        *time_ns = seen_ns + 1000;
        }
}

int brute_lives_new(const char *trace_path, struct brute_lives **ret, struct err *reterr) {
        _cleanup_(brute_lives_freep) struct brute_lives *b = calloc(1, sizeof(*b));
        int r;

        if (!b)
                abort();
        r = trace_reader_open(trace_path, &b->t, reterr);
        if (r < 0)
                return r;
        b->v = trace_view(b->t);
        b->processes = calloc(b->v->n_processes + 1, sizeof(b->processes[0]));
        b->by_start = brute_by_start(b->v);
        b->last_seq = calloc(b->v->n_threads + 1, sizeof(b->last_seq[0]));
        if (!b->processes || !b->last_seq)
                abort();
        vec_push(&b->steps, (struct step){0, 0, 0, TRACE_NO_PROCESS});
        r = find_heirs(b, reterr);
        if (r < 0)
                return r;
        for (size_t i = 0; i < b->v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                r = trace_read_events(b->t, i, &events, &n, reterr);
                if (r < 0)
                        return r;
                for (size_t k = 0; k < n; k++)
                        on_event(b, &events[k]);
        }
        live_and_die(b, UINT64_MAX - 1, TRACE_NO_PROCESS);
        *ret = TAKE_PTR(b);
        return 0;
}

struct brute_lives *brute_lives_free(struct brute_lives *b) {
        for (size_t p = 0; b->processes && p < b->v->n_processes; p++) {
                vec_free(&b->processes[p].live);
                vec_free(&b->processes[p].heritage);
                map_done(&b->processes[p].copies);
        }
        free(b->processes);
        free(b->by_start);
        free(b->last_seq);
        vec_free(&b->copies);
        vec_free(&b->steps);
        vec_free(&b->lost);
        trace_reader_free(b->t);
        free(b);
        return NULL;
}
