/* SPDX-License-Identifier: MIT */
#include "query/testing/brute.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

struct brute_block {
        uint64_t size_bytes;
        uint32_t stack, process; /* that allocated it */
};

/* Inherited bytes and blocks of a call path that count here, because their allocator is gone. */
struct brute_adopted {
        uint32_t stack;
        int64_t blocks, bytes;
};

bool brute_passes_on;

struct brute_process {
        bool has_begun, is_dead;
        uint32_t heir_of; /* whose blocks it began with, plus 1; 0: nobody's */
        VEC(struct brute_adopted) adopted;
        VEC(uint64_t) live; /* sequence numbers, in no order */
        VEC(uint64_t) began_with;
        struct map place; /* seq → index into live + 1, 0: gone */
        uint64_t live_bytes, own_bytes, own_blocks;
};

struct brute {
        struct trace_reader *t;
        const struct trace_view *v;
        const struct query_scope *scope;
        struct brute_process *processes;
        uint32_t *by_start;             /* the order in which they begin */
        VEC(struct brute_block) blocks; /* by seq */
        uint64_t *last_seq;             /* by thread, plus 1 */
        uint64_t n_steps, stop_at;      /* the second run ends at the peak */
        bool in_window, is_split;
        struct query_answer *answer;
        VEC(struct query_site) sites;
        struct map by_stack;
        bool has_peak;
        uint64_t peak_step;
};

static bool in_scope(const struct brute *b, uint32_t process) {
        return b->scope->process == QUERY_ALL || b->scope->process == process;
}

static struct query_site *site_of(struct brute *b, uint32_t process, uint32_t stack) {
        uint32_t of = b->is_split ? process : QUERY_ALL;
        bool added;
        uint64_t *idx = map_put(&b->by_stack, (uint64_t)of << 32 | stack, b->sites.n, &added);

        if (added)
                vec_push(&b->sites, (struct query_site){.stack = stack, .process = of});
        return &b->sites.items[*idx];
}

static bool is_own(const struct brute *b, uint32_t process, uint64_t seq) {
        return b->blocks.items[seq].process == process;
}

/* ---- live sets ------------------------------------------------------------------------------- */

static void live_add(struct brute *b, uint32_t process, uint64_t seq) {
        struct brute_process *p = &b->processes[process];

        vec_push(&p->live, seq);
        *map_put(&p->place, seq, 0, NULL) = p->live.n;
        p->live_bytes += b->blocks.items[seq].size_bytes;
        if (is_own(b, process, seq)) {
                p->own_bytes += b->blocks.items[seq].size_bytes;
                p->own_blocks++;
        }
}

static void live_remove(struct brute *b, uint32_t process, uint64_t seq) {
        struct brute_process *p = &b->processes[process];
        uint64_t *place = map_put(&p->place, seq, 0, NULL), i = *place;

        if (i == 0)
                abort(); /* released what is not live */
        *place = 0;
        p->live.items[i - 1] = p->live.items[--p->live.n];
        if (i - 1 < p->live.n)
                *map_put(&p->place, p->live.items[i - 1], 0, NULL) = i;
        p->live_bytes -= b->blocks.items[seq].size_bytes;
        if (is_own(b, process, seq)) {
                p->own_bytes -= b->blocks.items[seq].size_bytes;
                p->own_blocks--;
        }
}

static bool ended_before(const struct trace_process_info *p, uint64_t time_ns) {
        return p->has_end && p->end.ended != TRACE_ENDED_STOPPED && p->end.end_ns < time_ns;
}

bool brute_is_gone(const struct trace_view *v, uint32_t process, uint64_t time_ns) {
        if (!ended_before(&v->processes[process], time_ns))
                return false;
        for (uint32_t p = 0; p < v->n_processes; p++)
                if (!ended_before(&v->processes[p], v->processes[process].end.end_ns + 1))
                        return true;
        return false;
}

/* ---- blocks of processes that are gone ------------------------------------------------------- */

static struct brute_adopted *adopted_at(struct brute *b, uint32_t process, uint32_t stack) {
        struct brute_process *p = &b->processes[process];

        for (size_t i = 0; i < p->adopted.n; i++)
                if (p->adopted.items[i].stack == stack)
                        return &p->adopted.items[i];
        vec_push(&p->adopted, (struct brute_adopted){stack, 0, 0});
        return &p->adopted.items[p->adopted.n - 1];
}

/* The highest of its ancestors that are all gone. */
static uint32_t family_of(const struct brute *b, uint32_t process) {
        while (b->processes[process].heir_of &&
               b->processes[b->processes[process].heir_of - 1].is_dead)
                process = b->processes[process].heir_of - 1;
        return process;
}

static bool is_heir(const struct brute *b, uint32_t process, uint32_t family) {
        return process != family && b->processes[process].has_begun &&
               !b->processes[process].is_dead && family_of(b, process) == family;
}

/* Its copies of a call path, without as many as the family itself began with, where those above it live. */
static struct brute_adopted copies_of(const struct brute *b, uint32_t process, uint32_t stack) {
        const struct brute_process *family = &b->processes[family_of(b, process)];
        struct brute_adopted c = {stack, 0, 0};

        for (size_t i = 0; i < b->processes[process].live.n; i++) {
                uint64_t seq = b->processes[process].live.items[i];

                if (b->blocks.items[seq].stack == stack && !is_own(b, process, seq)) {
                        c.blocks++;
                        c.bytes += (int64_t)b->blocks.items[seq].size_bytes;
                }
        }
        for (size_t i = 0; i < family->began_with.n && family->heir_of; i++)
                if (b->blocks.items[family->began_with.items[i]].stack == stack) {
                        c.blocks--;
                        c.bytes -= (int64_t)b->blocks.items[family->began_with.items[i]].size_bytes;
                }
        c.blocks = MAX(c.blocks, (int64_t)0);
        c.bytes = MAX(c.bytes, (int64_t)0);
        return c;
}

struct brute_census {
        int64_t counted_blocks, counted_bytes, most_blocks, most_bytes;
        uint32_t by_blocks, by_bytes;
};

static struct brute_census census_of(struct brute *b, uint32_t family, uint32_t stack) {
        struct brute_census x = {0};

        for (uint32_t p = 0; p < b->v->n_processes; p++) {
                struct brute_adopted c;

                if (!is_heir(b, p, family))
                        continue;
                c = copies_of(b, p, stack);
                x.counted_blocks += adopted_at(b, p, stack)->blocks;
                x.counted_bytes += adopted_at(b, p, stack)->bytes;
                if (c.blocks > x.most_blocks)
                        x.most_blocks = c.blocks, x.by_blocks = p;
                if (c.bytes > x.most_bytes)
                        x.most_bytes = c.bytes, x.by_bytes = p;
        }
        return x;
}

static void top_up(struct brute *b, uint32_t family, uint32_t stack) {
        struct brute_census x = census_of(b, family, stack);

        if (x.most_blocks > x.counted_blocks)
                adopted_at(b, x.by_blocks, stack)->blocks += x.most_blocks - x.counted_blocks;
        if (x.most_bytes > x.counted_bytes)
                adopted_at(b, x.by_bytes, stack)->bytes += x.most_bytes - x.counted_bytes;
}

static void pass_on(struct brute *b, uint32_t process) {
        for (uint32_t p = 0; p < b->v->n_processes; p++)
                for (size_t i = 0;
                     is_heir(b, p, family_of(b, process)) && i < b->processes[p].live.n; i++)
                        top_up(b, family_of(b, process),
                               b->blocks.items[b->processes[p].live.items[i]].stack);
}

/* It has released its copy. */
static void release_copy(struct brute *b, uint32_t process, uint64_t seq) {
        uint32_t stack = b->blocks.items[seq].stack, family = family_of(b, process);
        struct brute_adopted *a, c;
        struct brute_census x;
        int64_t blocks, bytes;

        if (!brute_passes_on || !is_heir(b, process, family))
                return;
        c = copies_of(b, process, stack);
        x = census_of(b, family, stack);
        a = adopted_at(b, process, stack);
        blocks = MAX(a->blocks - c.blocks, MIN(a->blocks, x.counted_blocks - x.most_blocks));
        bytes = MAX(a->bytes - c.bytes, MIN(a->bytes, x.counted_bytes - x.most_bytes));
        a->blocks -= MIN(MAX(blocks, (int64_t)0), (int64_t)1);
        a->bytes -= MIN(MAX(bytes, (int64_t)0), (int64_t)b->blocks.items[seq].size_bytes);
        top_up(b, family, stack);
}

enum moment { MOMENT_BEGIN, MOMENT_PEAK, MOMENT_END };

static void note_figures(struct query_figures *f, enum moment moment, int64_t blocks,
                         int64_t bytes) {
        switch (moment) {
        case MOMENT_BEGIN: f->begin_bytes += bytes, f->begin_blocks += blocks; break;
        case MOMENT_PEAK: f->peak_bytes += bytes, f->peak_blocks += blocks; break;
        case MOMENT_END: f->end_bytes += bytes, f->end_blocks += blocks; break;
        }
}

static void note_live(struct brute *b, enum moment moment) {
        bool is_all = b->scope->process == QUERY_ALL;

        for (uint32_t p = 0; p < b->v->n_processes; p++) {
                const struct brute_process *x = &b->processes[p];

                for (size_t i = 0; in_scope(b, p) && i < x->live.n; i++) {
                        const struct brute_block *block = &b->blocks.items[x->live.items[i]];

                        if (is_all && (!is_own(b, p, x->live.items[i]) || x->is_dead))
                                continue;
                        note_figures(&site_of(b, p, block->stack)->f, moment, 1,
                                     (int64_t)block->size_bytes);
                }
                for (size_t i = 0; is_all && i < x->adopted.n; i++)
                        note_figures(&site_of(b, p, x->adopted.items[i].stack)->f, moment,
                                     x->adopted.items[i].blocks, x->adopted.items[i].bytes);
        }
}

static void level(const struct brute *b, uint32_t process, uint64_t *ret_bytes,
                  uint64_t *ret_blocks) {
        *ret_bytes = *ret_blocks = 0;
        if (process != QUERY_ALL) {
                *ret_bytes = b->processes[process].live_bytes;
                *ret_blocks = b->processes[process].live.n;
                return;
        }
        for (uint32_t p = 0; p < b->v->n_processes; p++)
                if (!b->processes[p].is_dead) {
                        *ret_bytes += b->processes[p].own_bytes;
                        *ret_blocks += b->processes[p].own_blocks;
                        for (size_t i = 0; i < b->processes[p].adopted.n; i++) {
                                *ret_bytes += (uint64_t)b->processes[p].adopted.items[i].bytes;
                                *ret_blocks += (uint64_t)b->processes[p].adopted.items[i].blocks;
                        }
                }
}

static void raise_peak(struct query_totals *t, uint64_t bytes, uint64_t blocks, uint64_t time_ns) {
        t->peak_bytes = bytes;
        t->peak_blocks = blocks;
        t->peak_ns = time_ns;
}

/* After each change: is this the highest so far? */
static void step(struct brute *b, uint64_t time_ns, uint32_t process) {
        struct query_totals *t = &b->answer->totals, *p = &b->answer->processes[process];
        uint64_t bytes, blocks;

        b->n_steps++;
        if (!b->in_window || b->stop_at != UINT64_MAX)
                return;
        level(b, process, &bytes, &blocks);
        if (bytes > p->peak_bytes)
                raise_peak(p, bytes, blocks, time_ns);
        if (!in_scope(b, process))
                return;
        level(b, b->scope->process, &bytes, &blocks);
        if (bytes > t->peak_bytes) {
                raise_peak(t, bytes, blocks, time_ns);
                b->has_peak = true;
                b->peak_step = b->n_steps;
        }
}

uint32_t *brute_by_start(const struct trace_view *v) {
        uint32_t *order = calloc(v->n_processes + 1, sizeof(*order));

        if (!order)
                abort();
        for (uint32_t p = 0; p < v->n_processes; p++) {
                size_t at = p;

                for (; at > 0 &&
                       v->processes[order[at - 1]].start.start_ns > v->processes[p].start.start_ns;
                     at--)
                        order[at] = order[at - 1];
                order[at] = p;
        }
        return order;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void begin_process(struct brute *b, uint32_t process, uint64_t time_ns) {
        const struct trace_process *start = &b->v->processes[process].start;
        struct brute_process *p = &b->processes[process];

        p->has_begun = true;
        if (start->image != 1 || start->parent >= b->v->n_processes)
                return;
        p->heir_of = start->parent + 1;
        for (size_t i = 0; i < b->processes[start->parent].live.n; i++) {
                live_add(b, process, b->processes[start->parent].live.items[i]);
                vec_push(&p->began_with, b->processes[start->parent].live.items[i]);
        }
        step(b, MIN(time_ns, start->start_ns), process);
}

/* Who of those that are due to end by time_ns does so first; TRACE_NO_PROCESS: nobody. */
static uint32_t next_to_die(const struct brute *b, uint64_t time_ns) {
        uint32_t first = TRACE_NO_PROCESS;

        for (uint32_t p = 0; p < b->v->n_processes; p++)
                if (!b->processes[p].is_dead && brute_is_gone(b->v, p, time_ns) &&
                    (first == TRACE_NO_PROCESS ||
                     b->v->processes[p].end.end_ns < b->v->processes[first].end.end_ns))
                        first = p;
        return first;
}

/* What an heir has of blocks that the process had released itself counts from now on: the sum may grow. */
static void die(struct brute *b, uint32_t process) {
        b->processes[process].is_dead = true;
        vec_free(&b->processes[process].adopted);
        if (!brute_passes_on)
                return;
        pass_on(b, process);
        step(b, b->v->processes[process].end.end_ns + 1, process);
}

static void die_before(struct brute *b, uint64_t time_ns) {
        for (uint32_t p;
             b->n_steps < b->stop_at && (p = next_to_die(b, time_ns)) != TRACE_NO_PROCESS;)
                die(b, p);
}

static void live_and_die(struct brute *b, uint64_t time_ns, uint32_t also) {
        for (size_t i = 0; i < b->v->n_processes; i++) {
                uint32_t p = b->by_start[i];
                uint64_t start_ns = b->v->processes[p].start.start_ns;

                if (b->processes[p].has_begun || (start_ns > time_ns && p != also) ||
                    b->n_steps >= b->stop_at)
                        continue;
                die_before(b, MIN(start_ns, time_ns));
                begin_process(b, p, time_ns);
        }
        die_before(b, time_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_alloc(struct brute *b, uint32_t process, const struct trace_event *e) {
        struct query_totals *t = &b->answer->processes[process];

        while (b->blocks.n <= e->seq)
                vec_push(&b->blocks, (struct brute_block){0, 0, TRACE_NO_PROCESS});
        b->blocks.items[e->seq] = (struct brute_block){e->size_bytes, e->stack, process};
        live_add(b, process, e->seq);
        b->last_seq[e->thread] = e->seq + 1;
        if (!b->in_window || b->stop_at != UINT64_MAX)
                return;
        t->n_allocs++;
        t->alloc_bytes += e->size_bytes;
        t->n_reallocs += e->op == TRACE_REALLOC;
        if (in_scope(b, process)) {
                struct query_site *s = site_of(b, process, e->stack);

                s->f.n_allocs++;
                s->f.alloc_bytes += e->size_bytes;
                s->f.n_reallocs += e->op == TRACE_REALLOC;
        }
}

static void on_release(struct brute *b, uint32_t process, const struct trace_event *e,
                       uint64_t seq) {
        struct query_totals *t = &b->answer->processes[process];
        bool implicit = e->op == TRACE_OTHER,
             temporary = !implicit && b->last_seq[e->thread] == seq + 1;
        const struct brute_block *block = &b->blocks.items[seq];

        live_remove(b, process, seq);
        if (!is_own(b, process, seq))
                release_copy(b, process, seq);
        if (!b->in_window || b->stop_at != UINT64_MAX)
                return;
        t->n_frees += !implicit;
        t->n_implicit_frees += implicit;
        t->n_temporary += temporary;
        if (in_scope(b, process)) {
                struct query_site *s = site_of(b, process, block->stack);

                s->f.n_frees++;
                s->f.free_bytes += block->size_bytes;
                s->f.n_temporary += temporary;
        }
}

static void on_other(struct brute *b, uint32_t process, const struct trace_event *e) {
        struct query_totals *t = &b->answer->processes[process];

        if (e->other == TRACE_IMPLICIT_FREE)
                on_release(b, process, e, e->seq);
        if (!b->in_window || b->stop_at != UINT64_MAX)
                return;
        t->n_unknown_frees += e->other == TRACE_UNKNOWN_FREE;
        t->n_prior_frees += e->other == TRACE_PRIOR_FREE;
        t->n_failed += e->other == TRACE_FAILED;
        t->n_lost += e->other == TRACE_LOST ? e->size_bytes : 0;
        t->n_wrong_sizes += e->other == TRACE_WRONG_SIZE;
}

static void on_event(struct brute *b, const struct trace_event *e) {
        uint32_t process;

        if (e->thread >= b->v->n_threads)
                return;
        process = b->v->threads[e->thread].start.process;
        live_and_die(b, e->time_ns, process);
        if (b->n_steps >= b->stop_at)
                return;
        if (e->op == TRACE_FREE)
                on_release(b, process, e, e->seq);
        if (e->op == TRACE_REALLOC)
                on_release(b, process, e, e->old_seq);
        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC)
                on_alloc(b, process, e);
        if (e->op == TRACE_OTHER)
                on_other(b, process, e);
        step(b, e->time_ns, process);
}

static void enter_window(struct brute *b) {
        uint64_t from_ns = b->scope->from_ns;

        if (from_ns > 0)
                live_and_die(b, from_ns - 1, TRACE_NO_PROCESS);
        die_before(b, from_ns);
        b->in_window = true;
        if (b->stop_at != UINT64_MAX)
                return;
        note_live(b, MOMENT_BEGIN);
        for (uint32_t p = 0; p < b->v->n_processes; p++) {
                struct query_totals *t = &b->answer->processes[p];

                level(b, p, &t->begin_bytes, &t->begin_blocks);
                raise_peak(t, t->begin_bytes, t->begin_blocks, from_ns);
        }
        level(b, b->scope->process, &b->answer->totals.peak_bytes, &b->answer->totals.peak_blocks);
        b->answer->totals.peak_ns = from_ns;
}

/* All events before the window's end, or up to the step stop_at. */
static int run(struct brute *b, uint64_t stop_at, struct err *reterr) {
        b->stop_at = stop_at;
        b->n_steps = 0;
        b->in_window = false;
        for (size_t i = 0; i < b->v->n_slices; i++) {
                const struct trace_event *events;
                size_t n;
                int r = trace_read_events(b->t, i, &events, &n, reterr);

                if (r < 0)
                        return r;
                for (size_t k = 0;
                     k < n && events[k].time_ns < b->scope->to_ns && b->n_steps < stop_at; k++) {
                        if (!b->in_window && events[k].time_ns >= b->scope->from_ns)
                                enter_window(b);
                        on_event(b, &events[k]);
                }
        }
        if (!b->in_window)
                enter_window(b);
        if (b->scope->to_ns > 0 && b->n_steps < stop_at)
                live_and_die(b, b->scope->to_ns - 1, TRACE_NO_PROCESS);
        die_before(b, b->scope->to_ns);
        return 0;
}

static void reset(struct brute *b) {
        for (size_t p = 0; p < b->v->n_processes; p++) {
                vec_free(&b->processes[p].live);
                vec_free(&b->processes[p].adopted);
                vec_free(&b->processes[p].began_with);
                map_done(&b->processes[p].place);
        }
        memset(b->processes, 0, b->v->n_processes * sizeof(b->processes[0]));
        memset(b->last_seq, 0, b->v->n_threads * sizeof(b->last_seq[0]));
}

static void finish(struct brute *b) {
        struct query_totals *t = &b->answer->totals;

        for (uint32_t p = 0; p < b->v->n_processes; p++) {
                struct query_totals *x = &b->answer->processes[p];

                level(b, p, &x->end_bytes, &x->end_blocks);
                if (!in_scope(b, p))
                        continue;
                t->n_allocs += x->n_allocs;
                t->n_frees += x->n_frees;
                t->n_reallocs += x->n_reallocs;
                t->n_failed += x->n_failed;
                t->n_unknown_frees += x->n_unknown_frees;
                t->n_prior_frees += x->n_prior_frees;
                t->n_implicit_frees += x->n_implicit_frees;
                t->alloc_bytes += x->alloc_bytes;
                t->n_temporary += x->n_temporary;
                t->n_lost += x->n_lost;
                t->n_wrong_sizes += x->n_wrong_sizes;
        }
        note_live(b, MOMENT_END);
        for (size_t i = 0; i < b->sites.n; i++) {
                t->begin_bytes += (uint64_t)b->sites.items[i].f.begin_bytes;
                t->begin_blocks += (uint64_t)b->sites.items[i].f.begin_blocks;
                t->end_bytes += (uint64_t)b->sites.items[i].f.end_bytes;
                t->end_blocks += (uint64_t)b->sites.items[i].f.end_blocks;
                t->n_sites += b->sites.items[i].f.n_allocs > 0;
        }
}

/* Of others than the one that is asked about. */
static void clear_gone(struct brute *b) {
        for (uint32_t p = 0; p < b->v->n_processes; p++) {
                struct query_totals *t = &b->answer->processes[p];

                if (p == b->scope->process || !brute_is_gone(b->v, p, b->scope->from_ns))
                        continue;
                t->begin_bytes = t->begin_blocks = t->end_bytes = t->end_blocks = 0;
                t->peak_bytes = t->peak_blocks = 0;
        }
}

static int ask(const char *trace_path, const struct query_scope *scope, bool is_split,
               struct query_answer **ret, struct err *reterr) {
        struct brute b = {.scope = scope, .is_split = is_split};
        int r = trace_reader_open(trace_path, &b.t, reterr);

        if (r < 0)
                return r;
        b.v = trace_view(b.t);
        b.answer = calloc(1, sizeof(*b.answer));
        b.processes = calloc(b.v->n_processes + 1, sizeof(b.processes[0]));
        b.by_start = brute_by_start(b.v);
        b.last_seq = calloc(b.v->n_threads + 1, sizeof(b.last_seq[0]));
        if (!b.answer || !b.processes || !b.last_seq)
                abort();
        b.answer->scope = *scope;
        b.answer->n_processes = b.v->n_processes;
        b.answer->processes = calloc(b.v->n_processes + 1, sizeof(struct query_totals));
        r = run(&b, UINT64_MAX, reterr);
        finish(&b);
        clear_gone(&b);
        /* Once more up to the peak, to see who was live then. */
        reset(&b);
        if (b.has_peak && r >= 0) {
                r = run(&b, b.peak_step, reterr);
        } else if (r >= 0) {
                struct query_scope before = {scope->process, scope->from_ns, scope->from_ns};

                b.scope = &before;
                r = run(&b, UINT64_MAX - 1, reterr);
                b.scope = scope;
        }
        note_live(&b, MOMENT_PEAK);
        reset(&b);
        free(b.processes);
        free(b.by_start);
        free(b.last_seq);
        vec_free(&b.blocks);
        map_done(&b.by_stack);
        b.answer->sites = b.sites.items;
        b.answer->n_sites = b.sites.n;
        trace_reader_free(b.t);
        *ret = b.answer;
        return r;
}

int brute_ask(const char *trace_path, const struct query_scope *scope, struct query_answer **ret,
              struct err *reterr) {
        return ask(trace_path, scope, false, ret, reterr);
}

int brute_ask_split(const char *trace_path, const struct query_scope *scope,
                    struct query_answer **ret, struct err *reterr) {
        return ask(trace_path, scope, true, ret, reterr);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static unsigned differ(FILE *out, const char *whose, long id, const char *what, uint64_t expected,
                       uint64_t actual) {
        if (expected == actual)
                return 0;
        fprintf(out, "%s %ld: %s: expected %" PRId64 ", got %" PRId64 "\n", whose, id, what,
                (int64_t)expected, (int64_t)actual);
        return 1;
}

static unsigned compare_totals(const struct query_totals *e, const struct query_totals *a,
                               const char *whose, long id, bool with_times, FILE *out) {
        unsigned n = 0;

#define SAME(field) n += differ(out, whose, id, #field, e->field, a->field)
        SAME(n_allocs), SAME(n_frees), SAME(n_reallocs), SAME(n_failed), SAME(n_unknown_frees);
        SAME(n_prior_frees), SAME(n_implicit_frees), SAME(alloc_bytes), SAME(n_temporary),
                SAME(n_lost);
        SAME(n_wrong_sizes), SAME(peak_bytes), SAME(peak_blocks), SAME(begin_bytes);
        SAME(begin_blocks), SAME(end_bytes), SAME(end_blocks);
#undef SAME
        /* Events know the microsecond, rows the nanosecond. */
        if (with_times)
                n += differ(out, whose, id, "peak_ns / 1000", e->peak_ns / 1000, a->peak_ns / 1000);
        return n;
}

static int by_stack(const void *a, const void *b) {
        const struct query_site *x = a, *y = b;

        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Sorted by stack, without those that did and held nothing. */
static size_t copy_sorted(const struct query_answer *a, struct query_site **ret) {
        struct query_site *s = calloc(a->n_sites + 1, sizeof(*s));
        size_t n = 0;

        if (!s)
                abort();
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_site *x = &a->sites[i];

                if (x->f.n_allocs || x->f.n_frees || x->f.begin_blocks || x->f.end_blocks ||
                    x->f.peak_blocks)
                        s[n++] = *x;
        }
        qsort(s, n, sizeof(*s), by_stack);
        *ret = s;
        return n;
}

unsigned brute_compare(const struct query_answer *expected, const struct query_answer *actual,
                       bool with_times, FILE *out) {
        _cleanup_free_ struct query_site *e = NULL, *a = NULL;
        size_t n_e = copy_sorted(expected, &e), n_a = copy_sorted(actual, &a);
        unsigned n =
                compare_totals(&expected->totals, &actual->totals, "totals", 0, with_times, out);

        n += differ(out, "totals", 0, "n_sites", expected->totals.n_sites, actual->totals.n_sites);
        for (size_t p = 0; p < expected->n_processes; p++)
                n += compare_totals(&expected->processes[p], &actual->processes[p], "process",
                                    (long)p, with_times, out);
        n += differ(out, "answer", 0, "number of sites", n_e, n_a);
        for (size_t i = 0; i < MIN(n_e, n_a); i++) {
#define SAME(field)                                                                                \
        n += differ(out, "stack", e[i].stack, #field, (uint64_t)e[i].f.field,                      \
                    (uint64_t)a[i].f.field)
                n += differ(out, "answer", (long)i, "stack", e[i].stack, a[i].stack);
                SAME(n_allocs), SAME(alloc_bytes), SAME(n_frees), SAME(free_bytes);
                SAME(n_temporary), SAME(n_reallocs), SAME(peak_bytes), SAME(peak_blocks),
                        SAME(begin_bytes);
                SAME(begin_blocks), SAME(end_bytes), SAME(end_blocks);
#undef SAME
        }
        return n;
}
