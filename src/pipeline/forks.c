/* SPDX-License-Identifier: MIT */
/* Processes as they appear and end, and what a child starts with.
 *
 * A FORK record of the parent takes a snapshot of its live blocks in its place in time; the child, found by
 * its entry in the arena, picks it up by (parent's entry, time). A child of a raw clone has no such
 * record: it gets what its parent has when it is first seen. */
#include "pipeline/pipeline_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "ledger/heritage.h"
#include "pipeline/block_residency.h"
#include "pipeline/heaps.h"
#include "pipeline/released.h"
#include "trace/writer.h"

#define SNAPSHOT_GRACE_NS                                                                          \
        10000000000u /* after the parent came back: a child that has not appeared by then is not coming */

#define EXIT_MAX_NS 1000000000u /* from exit() to the end of a process */

enum { HERITAGE_MAX_SLICES = 4096 }; /* more than these are not told to the moment */

struct process *forks_add_process(struct pipeline *p, uint32_t idx, uint32_t pid) {
        struct process *process = calloc(1, sizeof(*process));

        if (!process) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        process->idx = idx;
        process->pid = pid;
        process->parent_idx = UINT32_MAX;
        process->pump_no = p->pump_no;
        p->processes[idx] = process;
        vec_push(&p->active, process);
        return process;
}

static struct process *forks_look(struct pipeline *p, uint32_t idx) {
        const struct wire_process *shared = &p->shared_processes[idx];
        /* acquire: the fields the child filled. Pairs with its release of LIVE. */
        uint64_t state = atomic_load_explicit(&shared->state, memory_order_acquire);
        struct process *child;

        if ((state & 0xff) != WIRE_PROCESS_LIVE)
                return NULL;
        child = forks_add_process(p, idx, (uint32_t)(state >> 8));
        child->parent_idx = shared->parent_idx;
        child->fork_time = shared->fork_ts;
        child->fork_is_exact = shared->flags & WIRE_PROCESS_FORK_EXACT;
        /* Hostile, or a clock that does not agree: the future is now. It may have been forked since
         * this round began. */
        child->fork_time = MIN(child->fork_time, pipeline_now(p));
        p->n_unstarted++;
        return child;
}

void forks_scan(struct pipeline *p) {
        uint32_t n = atomic_load_explicit(&p->header->n_processes_used, memory_order_acquire);

        n = MIN(n, p->n_processes);
        p->n_processes_used = MAX(p->n_processes_used, n);
        for (uint32_t i = 0; i < p->n_processes_used; i++)
                if (!p->processes[i])
                        forks_look(p, i);
}

struct process *forks_find(struct pipeline *p, uint32_t idx) {
        if (idx >= p->n_processes)
                return NULL;
        return p->processes[idx] ? p->processes[idx] : forks_look(p, idx);
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static struct snapshot forks_snapshot_now(struct pipeline *p, struct process *parent,
                                          uint64_t time) {
        struct snapshot s = {
                .parent_idx = parent->idx,
                .parent = parent->trace_id,
                .time = time,
                .layer = live_freeze(&parent->live),
                .space = intern_space_ref(parent->space),
                .loader_number = parent->loader_number,
                .figures = figures_add_heir(parent->figures),
        };

        pools_copy(&s.pools, &parent->pools);
        s.heaps = heaps_copy(parent->heaps);
        sites_snapshot(&p->sites, parent->figures, &s.inherited);
        return s;
}

static void snapshot_done(struct snapshot *s) {
        live_layer_unref(s->layer);
        pools_done(&s->pools);
        heaps_free(s->heaps);
        intern_space_unref(s->space);
        figures_remove_heir(s->figures);
        vec_free(&s->inherited);
}

static struct snapshot forks_take_out(struct pipeline *p, size_t i) {
        struct snapshot s = p->snapshots.items[i];

        p->snapshots.items[i] = p->snapshots.items[--p->snapshots.n];
        return s;
}

void forks_take_snapshot(struct pipeline *p, struct process *parent, uint64_t time) {
        vec_push(&p->snapshots, forks_snapshot_now(p, parent, time));
}

/* The parent's earliest fork that has not come back has. (Threads that fork at once have equal snapshots or nearly.) */
void forks_done(struct pipeline *p, struct process *parent, uint64_t time_ns) {
        struct snapshot *oldest = NULL;

        for (size_t i = 0; i < p->snapshots.n; i++) {
                struct snapshot *s = &p->snapshots.items[i];

                if (s->parent_idx == parent->idx && s->done_ns == 0 &&
                    (!oldest || s->time < oldest->time))
                        oldest = s;
        }
        if (oldest)
                oldest->done_ns = MAX(time_ns, (uint64_t)1);
}

void forks_expire(struct pipeline *p) {
        uint64_t now_ns = pipeline_time_ns(p, p->final_time);

        for (size_t i = 0; i < p->snapshots.n;) {
                const struct snapshot *s = &p->snapshots.items[i];

                if (s->done_ns != 0 && now_ns > s->done_ns + SNAPSHOT_GRACE_NS) {
                        struct snapshot old = forks_take_out(p, i);

                        snapshot_done(&old);
                } else {
                        i++;
                }
        }
}

/* ---- start and end ------------------------------------------------------------------------------ */

/* The entry may belong to another process by now: then that one is younger than the fork. A raw clone's time is no
 * more than its parent's last record: it says nothing when there was none. */
static struct process *forks_find_parent(struct pipeline *p, const struct process *child) {
        struct process *parent =
                child->parent_idx < p->n_processes ? p->processes[child->parent_idx] : NULL;

        if (!parent || parent == child)
                return NULL;
        return parent->fork_time <= child->fork_time || !child->fork_is_exact ? parent : NULL;
}

static void forks_find_snapshot(struct pipeline *p, const struct process *child,
                                struct process *parent, struct snapshot *ret) {
        for (size_t i = 0; child->fork_is_exact && i < p->snapshots.n; i++)
                if (p->snapshots.items[i].parent_idx == child->parent_idx &&
                    p->snapshots.items[i].time == child->fork_time) {
                        *ret = forks_take_out(p, i);
                        return;
                }
        if (parent && parent->space)
                *ret = forks_snapshot_now(p, parent, child->fork_time);
}

static uint32_t forks_define(struct pipeline *p, const struct process *child, uint32_t parent,
                             uint64_t start_ns) {
        const struct pipeline_calls *calls = &p->config.calls;
        struct trace_process t = {
                .pid = child->pid, .parent = parent, .image = 1, .start_ns = start_ns, .exe = ""};

        if (calls->on_process)
                return calls->on_process(calls->ctx, child->idx, child->pid, parent, start_ns);
        return trace_add_process(p->config.writer, &t);
}

void forks_start(struct pipeline *p, struct process *child) {
        struct process *parent = forks_find_parent(p, child);
        uint64_t fork_ns = pipeline_time_ns(p, child->fork_time);
        struct snapshot s = {.parent = TRACE_NO_PROCESS};

        /* first, so that a circle of hostile entries ends */
        child->is_started = true;
        p->n_unstarted--;
        if (parent && !parent->is_started)
                forks_start(p, parent);
        forks_find_snapshot(p, child, parent, &s);
        /* it inherits behind the slice that ends now */
        if (fork_ns >= p->pair.book.now_ns && sites_slice_is_dirty(&p->sites))
                fork_ns = trace_slice_end_ns(p->config.writer, fork_ns);
        p->pair.book.now_ns = MAX(p->pair.book.now_ns, fork_ns);
        live_init(&child->live, s.layer);
        child->pools = s.pools;
        child->heaps = s.heaps;
        child->trace_id = forks_define(p, child, s.parent, fork_ns);
        child->loader_number = s.loader_number;
        child->figures = sites_add_process(&p->sites, child->trace_id, s.figures, &s.inherited,
                                           p->pair.book.now_ns);
        p->pair.book.now_ns = MAX(p->pair.book.now_ns, trace_slice_begin_ns(p->config.writer));
        figures_remove_heir(s.figures); /* the child is it now */
        /* last: it says that the rest is there */
        child->space = s.space ? s.space : intern_space_new();
        vec_free(&s.inherited);
}

void forks_start_children(struct pipeline *p, const struct process *parent) {
        for (size_t i = 0; p->n_unstarted > 0 && i < p->active.n; i++)
                if (!p->active.items[i]->is_started &&
                    p->active.items[i]->parent_idx == parent->idx)
                        forks_start(p, p->active.items[i]);
}

void forks_start_due(struct pipeline *p) {
        if (p->n_unstarted == 0)
                return;
        for (size_t i = 0; i < p->active.n; i++) {
                struct process *child = p->active.items[i];

                if (!child->is_started &&
                    (child->fork_time < p->final_time || child->is_ending || p->is_finishing))
                        forks_start(p, child);
        }
}

static void forks_free(struct process *process) {
        if (process->space) {
                live_done(&process->live);
                intern_space_unref(process->space);
        }
        pools_done(&process->pools);
        heaps_free(process->heaps);
        map_done(&process->threads);
        residency_free(process->residency);
        released_free(process->released);
        free(process->shares);
        free(process);
}

/* When it began to end, as it says itself; 0: it does not, or went on for long after that. */
static uint64_t forks_told_time(const struct pipeline *p, const struct process *process,
                                uint64_t seen_time) {
        uint64_t told = atomic_load_explicit(&p->shared_processes[process->idx].exit_ts,
                                             memory_order_relaxed);
        bool is_good = told > process->fork_time && told <= seen_time &&
                       pipeline_time_ns(p, seen_time) - pipeline_time_ns(p, told) < EXIT_MAX_NS;

        return is_good ? told : 0;
}

/* Its own word, or when it was seen to be gone. Of one that was gone when it was first looked at all that is known then is that it
 * began. */
void forks_set_end_time(const struct pipeline *p, struct process *process) {
        uint64_t seen = process->gone_time ? process->gone_time : pipeline_now(p);
        uint64_t told = forks_told_time(p, process, seen);

        process->end_is_told = told > 0;
        process->end_time = told ? told : process->space ? seen : process->fork_time;
        if (process->cut_time && process->cut_time == p->cut_time) {
                process->end_is_told = true;
                process->end_time = MAX(process->end_time, process->cut_time + 1);
        }
}

static bool forks_awaits_child(const struct pipeline *p, const struct process *parent) {
        for (size_t i = 0; p->n_unstarted > 0 && i < p->active.n; i++)
                if (!p->active.items[i]->is_started &&
                    p->active.items[i]->parent_idx == parent->idx &&
                    p->active.items[i]->fork_time < parent->end_time)
                        return true;
        return false;
}

/* The process to end next. They end in the order in which they went, or one with much left to read would outlive the shell that
 * waited for it; those that became another program wait for nobody, because that waits for them. */
struct process *forks_first_over(struct pipeline *p) {
        struct process *first = NULL;
        uint64_t unread_time = UINT64_MAX;

        for (size_t i = 0; i < p->active.n; i++) {
                struct process *x = p->active.items[i];

                if (!x->is_ending) { /* its files are closed, which others may wait for, before it is gone */
                        uint64_t told = forks_told_time(p, x, pipeline_now(p));

                        if (told || x->gone_time)
                                unread_time = MIN(unread_time, told ? told : x->gone_time);
                        continue;
                }
                if (x->n_slots > 0 || x->n_scans_left > 0)
                        unread_time = MIN(unread_time, x->end_time);
                else if (x->ends_in_exec || p->is_finishing)
                        return x;
                else if (forks_awaits_child(p, x) ||
                         (x->end_is_told && !x->end_was_due && x->end_time > p->final_time))
                        unread_time = MIN(unread_time, x->end_time);
                else if (!first || x->end_time < first->end_time)
                        first = x;
        }
        return first && first->end_time <= unread_time ? first : NULL;
}

/* Where in the order of events the process ends: behind all that was applied while it counted as alive,
 * before all that comes. Readers tell by this time alone whose blocks are part of a common peak. */
static uint64_t forks_place_end(struct pipeline *p, uint64_t seen_ns) {
        uint64_t end_ns = MAX(p->pair.book.now_ns, MIN(seen_ns, pipeline_final_ns(p)));

        p->pair.book.now_ns =
                (end_ns / 1000 + 1) * 1000; /* events are written to the microsecond */
        return end_ns;
}

/* Everything of it is through. Its entry is free again. */
void forks_end_process(struct pipeline *p, struct process *process) {
        const struct pipeline_calls *calls = &p->config.calls;
        struct pipeline_totals totals;
        uint64_t end_ns;
        bool is_known, passes_on;

        /* a daemon's parent ends before its child appears: the snapshot waits on */
        for (size_t i = 0; i < p->snapshots.n; i++)
                if (p->snapshots.items[i].parent_idx == process->idx &&
                    p->snapshots.items[i].done_ns == 0)
                        p->snapshots.items[i].done_ns = MAX(p->pair.book.now_ns, (uint64_t)1);
        pair_end_process(&p->pair, process);
        passes_on = heritage_is_due(&p->sites, process->figures) &&
                    p->n_heritage_slices < HERITAGE_MAX_SLICES;
        if (passes_on && sites_slice_is_dirty(&p->sites))
                pipeline_end_slice(p, p->pair.book.now_ns, false);
        end_ns = forks_place_end(p, process->end_ns);
        sites_end_process(&p->sites, process->figures, end_ns + 1);
        tally_write(p, process);
        is_known = pipeline_get_totals(p, process->trace_id, &totals);
        pipeline_settle_look(p, process, !(is_known && totals.ends_in_exec));
        if (is_known && calls->on_process_end)
                calls->on_process_end(calls->ctx, process->idx, process->trace_id, end_ns, &totals);
        for (size_t i = 0; i < p->active.n; i++)
                if (p->active.items[i] == process) {
                        memmove(&p->active.items[i], &p->active.items[i + 1],
                                (p->active.n - i - 1) * sizeof(p->active.items[0]));
                        p->active.n--;
                        break;
                }
        p->processes[process->idx] = NULL;
        /* release: nothing of the old life may be seen in the next. Pairs with the claimer's compare-and-swap. */
        atomic_store_explicit(&p->shared_processes[process->idx].state, 0, memory_order_release);
        forks_free(process);
        if (passes_on) { /* what passed on did so at this slice's end, as no event of it tells */
                pipeline_end_slice(p, p->pair.book.now_ns, true);
                p->n_heritage_slices++;
        }
}

void forks_free_all(struct pipeline *p) {
        for (size_t i = 0; i < p->active.n; i++)
                forks_free(p->active.items[i]);
        for (size_t i = 0; i < p->snapshots.n; i++)
                snapshot_done(&p->snapshots.items[i]);
        vec_free(&p->active);
        vec_free(&p->snapshots);
        free(p->processes);
}
