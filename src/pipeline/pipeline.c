/* SPDX-License-Identifier: MIT */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system_clock.h"
#include "pipeline/block_residency.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/released.h"
#include "trace/writer.h"
#include "wire/clock.h"

enum {
        DRAIN_WORDS =
                8192, /* copied from one slot at a time: stays in the cache until it is decoded */
        PUMP_MAX_RECORDS = 400000, /* then the caller gets a turn */
        PUMP_MAX_ROUNDS = 64,
        PUMP_MAX_WAITS = 8,  /* of a process, for the ends of others */
        PUMP_MAX_TURNS = 64, /* of processes in a round, in their places; others come behind */
        SLICE_SPARE_EVENTS = 1024, /* one record may free a row of held ones */
        FOLD_BLOCKS = 4096,
        SLICE_MAX_LINES = 1 << 16, /* of what children inherited: a row each */
};

/* ---- life --------------------------------------------------------------------------------------- */

static uint64_t config_ticks(const struct pipeline_config *c, uint64_t ns) {
        return (uint64_t)((unsigned __int128)ns * c->counter_hz / 1000000000u);
}

static int pipeline_check_arena(const struct pipeline_config *c, struct err *reterr) {
        const struct wire_header *h = c->arena;

        if (c->arena_bytes < sizeof(*h) || h->magic != WIRE_MAGIC || h->version != WIRE_VERSION ||
            h->chunk_bytes != WIRE_CHUNK_BYTES || h->n_lent != WIRE_N_LENT ||
            h->size_bytes > c->arena_bytes ||
            h->process_off + (uint64_t)h->n_processes * sizeof(struct wire_process) >
                    c->arena_bytes ||
            h->slot_off + (uint64_t)h->n_slots * sizeof(struct wire_slot) > c->arena_bytes ||
            h->chunk_off + (uint64_t)h->n_chunks * WIRE_CHUNK_BYTES > c->arena_bytes ||
            c->counter_hz == 0)
                return err_set(reterr, -EINVAL, "shared memory: its header does not describe it");
        return 0;
}

static void pipeline_set_defaults(struct pipeline_config *c) {
        c->max_lent_bytes = c->max_lent_bytes ? c->max_lent_bytes : 32u << 20;
        c->margin_ns = c->margin_ns ? c->margin_ns : 100000;
        c->skew_ns = c->skew_ns ? c->skew_ns : 50000;
        c->max_stall_ns = c->max_stall_ns ? c->max_stall_ns : 1000000000;
        c->max_pending_bytes = c->max_pending_bytes ? c->max_pending_bytes : 64u << 20;
        c->max_slice_events = c->max_slice_events ? c->max_slice_events : TRACE_MAX_SLICE_EVENTS;
}

int pipeline_new(const struct pipeline_config *config, struct pipeline **ret, struct err *reterr) {
        struct drain_config drain;
        struct pipeline *p;
        int r;

        r = pipeline_check_arena(config, reterr);
        if (r < 0)
                return r;
        p = calloc(1, sizeof(*p));
        if (!p)
                return err_set_errno(reterr, -ENOMEM, "recorder");
        p->config = *config;
        pipeline_set_defaults(&p->config);
        p->header = config->arena;
        p->shared_processes =
                (struct wire_process *)((uint8_t *)config->arena + p->header->process_off);
        p->n_processes = p->header->n_processes;
        p->clock_base = p->header->clock_base;
        p->clock = p->header->clock;
        p->leave_time = UINT64_MAX;
        p->ticks_per_s = config->counter_hz;
        p->ns_mult = (uint64_t)(((unsigned __int128)1000000000u << 32) / config->counter_hz);
        p->processes = calloc(p->n_processes, sizeof(p->processes[0]));
        if (!p->processes) {
                free(p);
                return err_set_errno(reterr, -ENOMEM, "recorder");
        }

        drain = (struct drain_config){
                .calls = &p->config.calls,
                .header = p->header,
                .n_slots = p->header->n_slots,
                .n_chunks = p->header->n_chunks,
                .max_chunks = (uint32_t)MIN(p->config.max_lent_bytes / WIRE_CHUNK_BYTES,
                                            (uint64_t)UINT32_MAX),
                .slot_off = p->header->slot_off,
                .chunk_off = p->header->chunk_off,
                .ticks_per_ms = MAX(config_ticks(config, 1000000), (uint64_t)1),
                .margin = config_ticks(config, p->config.margin_ns),
        };
        drain_init(&p->drain, &drain);
        intern_init(&p->intern, config->writer, &p->config.calls);
        sites_init(&p->sites, config->writer);
        pair_init(&p->pair, config->writer, &p->sites);
        p->pair.skew_ns = p->config.skew_ns;
        p->pair.addresses = config->addresses;
        p->pair.prior = config->prior;
        p->pair.is_sampled = p->sites.is_sampled = p->header->flags & WIRE_SAMPLED;
        p->pair.weights.seed = p->header->sample_seed;
        drain_scan(&p->drain, 0);
        p->cut_time = UINT64_MAX;
        *ret = p;
        return 0;
}

struct pipeline *pipeline_free(struct pipeline *p) {
        if (!p)
                return NULL;
        forks_free_all(p);
        pair_done(&p->pair);
        sites_done(&p->sites);
        intern_done(&p->intern);
        vec_free(&p->order.heap);
        drain_done(&p->drain);
        free(p);
        return NULL;
}

/* ---- time --------------------------------------------------------------------------------------- */

uint64_t pipeline_now(const struct pipeline *p) {
        const struct pipeline_calls *calls = &p->config.calls;

        if (calls->counter_now)
                return calls->counter_now(calls->ctx) - p->clock_base;
        if (p->clock == WIRE_CLOCK_COUNTER)
                return clock_counter() - p->clock_base;
        return clock_now_ns() - p->clock_base;
}

uint64_t pipeline_final_ns(const struct pipeline *p) {
        return MAX(pipeline_time_ns(p, p->final_time), p->pair.book.now_ns);
}

/* ---- processes ---------------------------------------------------------------------------------- */

void pipeline_add_image(struct pipeline *p, uint32_t process_idx, uint32_t pid,
                        uint32_t trace_process) {
        struct process *process;

        if (process_idx >= p->n_processes || p->processes[process_idx])
                return;
        process = forks_add_process(p, process_idx, pid);
        process->fork_time = pipeline_now(p);
        process->is_started = true;
        process->trace_id = trace_process;
        process->space = intern_space_new();
        process->figures =
                sites_add_process(&p->sites, trace_process, NULL, NULL, pipeline_final_ns(p));
        p->pair.book.now_ns = pipeline_final_ns(p);
}

void pipeline_set_loader_allocator(struct pipeline *p, uint32_t process_idx, uint32_t number) {
        struct process *process = forks_find(p, process_idx);

        if (process)
                process->loader_number = number;
}

void pipeline_see_gone(struct pipeline *p, uint32_t process_idx) {
        struct process *process = forks_find(p, process_idx);

        if (process && !process->is_ending && !process->gone_time)
                process->gone_time = pipeline_now(p);
}

void pipeline_end_process(struct pipeline *p, uint32_t process_idx, uint64_t end_ns) {
        struct process *process = forks_find(p, process_idx);

        if (!process || process->is_ending)
                return;
        process->is_ending = true;
        process->end_ns = end_ns;
        forks_set_end_time(p, process);
        process->n_scans_left = 1;
}

/* Slots whose threads are gone and read to the end are free; processes without slots that ended are through. */
static void pipeline_reap(struct pipeline *p) {
        struct process *over;

        for (size_t i = 0; i < p->active.n; i++)
                p->active.items[i]->n_slots = 0;
        for (size_t i = p->drain.active.n; i-- > 0;) {
                struct slot *s = p->drain.active.items[i];
                struct process *process =
                        s->process_idx < p->n_processes ? p->processes[s->process_idx] : NULL;

                if (s->n_lost > 0 || (s->is_drained && slot_n_words(s) == 0))
                        decode_count_lost(p, s);
                if (s->is_drained && slot_n_words(s) == 0) {
                        pair_end_slot(&p->pair, s->no);
                        pair_end_bulk(&p->pair, s->no, NULL);
                        if (process && slot_ends_in_exec(s))
                                process->ends_in_exec = true;
                        if (process)
                                tally_take(process, s->shared);
                        if (process && s->process)
                                process->blocked_ns += atomic_load_explicit(&s->shared->blocked_ns,
                                                                            memory_order_relaxed);
                        if (s->process && !(s->shared->flags & WIRE_SLOT_NESTED))
                                *map_put(&s->process->threads, s->tid, 0, NULL) =
                                        s->thread | PROCESS_THREAD_IS_OVER;
                        drain_free_slot(&p->drain, s);
                } else if (process) {
                        process->n_slots++;
                }
        }
        while ((over = forks_first_over(p))) {
                if (!over->is_started)
                        forks_start(p, over);
                forks_start_children(p, over);
                forks_end_process(p, over);
        }
}

/* ---- pump --------------------------------------------------------------------------------------- */

static void pipeline_enqueue(struct pipeline *p, struct slot *s) {
        if (s->heap_idx != UINT32_MAX || slot_n_words(s) == 0)
                return;
        if (decode_settle(p, s))
                order_add(&p->order, s);
}

/* A slot whose queue is long waits with the rest in its ring, unless the ring gets full. */
static bool slot_wants_draining(const struct pipeline *p, const struct slot *s) {
        uint64_t unread;

        if (slot_n_words(s) < DRAIN_WORDS)
                return true;
        /* relaxed: only a hint */
        unread = atomic_load_explicit(&s->shared->write_pos, memory_order_relaxed) -
                 s->ring.read_pos;
        return unread * 2 > s->ring.limit_pos - s->ring.read_pos &&
               p->drain.pending_bytes < p->config.max_pending_bytes;
}

static bool pipeline_drain(struct pipeline *p) {
        bool any = false;

        for (size_t i = 0; i < p->drain.active.n; i++) {
                struct slot *s = p->drain.active.items[i];
                struct process *process =
                        s->process_idx < p->n_processes ? p->processes[s->process_idx] : NULL;

                if ((process && process->is_ending) || p->is_finishing)
                        s->is_dead = s->is_dead || (process && process->is_ending);
                else if (!s->is_dead)
                        drain_check_thread(&p->drain, s, p->now, process ? process->pid : 0);
                if (s->is_broken)
                        drain_discard(&p->drain, s);
                else if (slot_wants_draining(p, s))
                        any |= drain_slot(&p->drain, s, p->now, DRAIN_WORDS);
                if (s->is_broken)
                        order_remove(&p->order, s); /* its words are gone */
                drain_trim(&p->drain, s);
                pipeline_enqueue(p, s);
        }
        return any;
}

/* Up to when a slot that has nothing queued may still say something. */
static uint64_t slot_bound(const struct slot *s) {
        return (s->is_dead && s->is_drained) || s->is_broken ? UINT64_MAX
                                                             : MAX(s->mark, s->last_time);
}

/* Everything before this is there: no slot can still produce an earlier record. */
static uint64_t pipeline_low_water(struct pipeline *p) {
        uint64_t low = p->now > p->drain.margin ? p->now - p->drain.margin : 0;
        uint64_t max_stall = config_ticks(&p->config, p->config.max_stall_ns);
        bool is_crowded = p->drain.pending_bytes >= p->config.max_pending_bytes;

        if (p->is_finishing)
                return UINT64_MAX;
        for (size_t i = 0; i < p->drain.active.n; i++) {
                struct slot *s = p->drain.active.items[i];
                uint64_t bound = slot_bound(s);

                if (slot_n_words(s) > 0 || s->is_passed_over || bound >= low) {
                        s->stuck_since = 0;
                        continue;
                }
                if (s->stuck_since == 0)
                        s->stuck_since = p->now;
                if ((p->now - s->stuck_since > max_stall || is_crowded) && order_first(&p->order)) {
                        s->is_passed_over = true;
                        p->n_forced++;
                        continue;
                }
                low = bound;
        }
        return low;
}

/* Up to where records may be decoded now. */
static uint64_t pipeline_end(struct pipeline *p) {
        return MIN(pipeline_low_water(p), p->cut_time);
}

/* Decodes, in time order, everything up to low_water; a slot that runs empty lowers it. */
static uint64_t pipeline_merge(struct pipeline *p, uint64_t low_water) {
        struct slot *s;

        while ((s = order_first(&p->order)) && s->head_time <= low_water) {
                if (decode_run(p, s, MIN(order_run_end(&p->order), low_water))) {
                        order_first_changed(&p->order);
                        continue;
                }
                order_remove(&p->order, s);
                if (!s->is_passed_over && !p->is_finishing)
                        low_water = MIN(low_water, slot_bound(s));
        }
        return low_water;
}

static void pipeline_fold(struct pipeline *p) {
        for (size_t i = 0; i < p->active.n; i++)
                if (p->active.items[i]->space && p->active.items[i]->live.base)
                        live_fold(&p->active.items[i]->live, FOLD_BLOCKS);
}

/* All is in that comes before the cut. Its time is a whole microsecond that no event before it has reached, as for the end
 * of any slice, and none behind it falls short of, whether the slice ends there or not. */
static void pipeline_make_cut(struct pipeline *p) {
        struct trace_writer *w = p->config.writer;
        uint64_t end_ns = MAX(p->pair.book.now_ns, pipeline_time_ns(p, p->cut_time));

        p->cut_time = UINT64_MAX;
        end_ns = trace_slice_end_ns(w, end_ns);
        if (p->config.calls.on_cut && p->config.calls.on_cut(p->config.calls.ctx, end_ns))
                sites_end_slice(&p->sites, end_ns, SITES_CHECKPOINT_UNLESS_NEAR);
        p->pair.book.now_ns = end_ns;
}

/* When it began or ended: what has not been decoded yet lies behind. */
static uint64_t turn_time(const struct process *x) {
        if (!x->is_started)
                return x->fork_time;
        return x->is_ending && !x->end_was_due ? x->end_time : UINT64_MAX;
}

static struct process *pipeline_next_turn(struct pipeline *p, uint64_t until_time) {
        struct process *first = NULL;

        for (size_t i = 0; i < p->active.n; i++) {
                struct process *x = p->active.items[i];

                if (turn_time(x) < until_time && (!first || turn_time(x) < turn_time(first)))
                        first = x;
        }
        return first;
}

/* Somebody is gone and nothing of it is left to decode, but its slots have not been read to their ends. */
static bool pipeline_is_any_unread(const struct pipeline *p) {
        for (size_t i = 0; i < p->drain.active.n; i++) {
                const struct slot *s = p->drain.active.items[i];
                const struct process *x =
                        s->process_idx < p->n_processes ? p->processes[s->process_idx] : NULL;

                if (x && x->is_ending && slot_n_words(s) == 0)
                        return true;
        }
        return false;
}

/* Who was seen to be gone ends before what came later is added up, and before a later process begins: else those that follow one
 * another, as in a shell's loop, would seem to live side by side. Before one begins, the recorder has looked who is gone since it
 * appeared. True: events behind ret_time wait for the next round. */
static bool pipeline_take_turns(struct pipeline *p, uint64_t *ret_time) {
        struct process *x;

        /* A slot that ran empty in a turn may have more in its ring, before the next turn's time: it is asked anew how far the next
         * may go. */
        for (int i = 0; i < PUMP_MAX_TURNS && (x = pipeline_next_turn(p, pipeline_end(p))); i++) {
                uint64_t time = turn_time(x);
                uint32_t idx = x->idx;
                bool begins = !x->is_started;

                *ret_time = pipeline_merge(p, time);
                p->final_time = MAX(p->final_time, *ret_time);
                x->end_was_due |= !begins && *ret_time == time;
                pipeline_reap(p);
                if (*ret_time < time)
                        return true;
                if (!begins || p->processes[idx] != x) /* begun and over */
                        continue;
                if (x->pump_no == p->pump_no ||
                    (x->n_waits < PUMP_MAX_WAITS && pipeline_is_any_unread(p))) {
                        x->n_waits++;
                        return true;
                }
                if (!x->is_started)
                        forks_start(p, x);
                if (x->is_ending)
                        return true; /* its slots are looked at once more */
        }
        *ret_time = pipeline_end(p);
        return false;
}

/* Decodes what is final, and makes the cut when it is due. */
static uint64_t pipeline_take_final(struct pipeline *p) {
        uint64_t low_water = pipeline_end(p);

        if (!p->is_finishing && pipeline_next_turn(p, low_water) &&
            pipeline_take_turns(p, &low_water))
                return low_water;
        low_water = pipeline_merge(p, low_water);
        if (low_water < p->cut_time || p->cut_time == UINT64_MAX)
                return low_water;
        pipeline_make_cut(p);
        /* what lies behind has its turns, too: it waits for the next round */
        return p->is_finishing ? pipeline_merge(p, pipeline_low_water(p)) : low_water;
}

/* A thread that was inside a hook when the entries were taken out goes on to allocate, maybe a block that another has released
 * unseen. Its record is behind this time, and this is read after what was copied: nothing of that kind passes. */
static void pipeline_see_leave(struct pipeline *p) {
        uint64_t time = atomic_load_explicit(&p->header->leave_ts, memory_order_acquire);

        if (time)
                p->leave_time = time;
}

/* One look at everything; true when there was something to copy. */
static bool pipeline_round(struct pipeline *p) {
        uint64_t low_water;
        bool any;

        p->now = pipeline_now(p);
        drain_scan(&p->drain, p->now);
        forks_scan(p);
        any = pipeline_drain(p);
        pipeline_see_leave(p);
        for (size_t i = 0; i < p->active.n; i++)
                p->active.items[i]->n_scans_left = 0;
        low_water = pipeline_take_final(p);
        if (low_water > p->final_time && low_water != UINT64_MAX)
                p->final_time = low_water;
        forks_start_due(p);
        pipeline_reap(p);
        return any;
}

size_t pipeline_pump(struct pipeline *p) {
        uint64_t n_before = p->n_records, n_round;

        p->pump_no++;

        for (int i = 0; i < PUMP_MAX_ROUNDS; i++) {
                n_round = p->n_records;
                if (!pipeline_round(p) && p->n_records == n_round)
                        break;
                if (p->n_records - n_before >= PUMP_MAX_RECORDS)
                        break;
        }
        pair_expire(&p->pair, pipeline_time_ns(p, p->final_time));
        forks_expire(p);
        pipeline_fold(p);
        return p->n_records - n_before;
}

bool pipeline_has_pending(const struct pipeline *p) {
        bool ending = false;

        for (size_t i = 0; i < p->active.n; i++)
                ending = ending || p->active.items[i]->is_ending || !p->active.items[i]->is_started;
        return order_first(&p->order) || p->pair.held.n > 0 || ending || pipeline_has_work(p);
}

bool pipeline_has_newcomers(const struct pipeline *p) {
        return p->n_unstarted > 0;
}

bool pipeline_has_work(const struct pipeline *p) {
        uint32_t n_slots = atomic_load_explicit(&p->header->n_slots_used, memory_order_acquire);
        uint32_t n_processes =
                atomic_load_explicit(&p->header->n_processes_used, memory_order_acquire);

        if (MIN(n_slots, p->drain.n_slots) > p->drain.n_slots_used ||
            MIN(n_processes, p->n_processes) > p->n_processes_used)
                return true;
        for (uint32_t i = 0; i < p->drain.n_slots_used; i++) {
                const struct wire_slot *shared = &p->drain.shared[i];
                const struct slot *s = p->drain.slots[i];

                /* seq_cst: after the recorder said it sleeps. Pairs with the writer's look at `asleep`. */
                if (atomic_load_explicit(&shared->write_pos, memory_order_seq_cst) !=
                            s->ring.read_pos &&
                    !(s->is_broken && ring_reader_available(&s->ring) < 0))
                        return true;
                if (atomic_load_explicit(&shared->waiting, memory_order_seq_cst) &&
                    s->ring.limit_pos == s->ring.read_pos)
                        return true;
        }
        return false;
}

/* ---- slices ------------------------------------------------------------------------------------- */

void pipeline_check_slice(struct pipeline *p) {
        if (likely(trace_slice_n_events(p->config.writer) <
                           p->config.max_slice_events - SLICE_SPARE_EVENTS &&
                   p->sites.n_lines_in_slice < SLICE_MAX_LINES))
                return;
        sites_end_slice(&p->sites, p->pair.book.now_ns, SITES_CHECKPOINT_WHEN_DUE);
        p->pair.book.now_ns = MAX(p->pair.book.now_ns, trace_slice_begin_ns(p->config.writer));
}

void pipeline_end_slice(struct pipeline *p, uint64_t now_ns, bool force) {
        uint64_t end_ns = MAX(p->pair.book.now_ns, MIN(now_ns, pipeline_final_ns(p)));

        if (!force && !sites_slice_is_dirty(&p->sites) && !trace_n_open_ticks(p->config.writer))
                return;
        sites_end_slice(&p->sites, end_ns, SITES_CHECKPOINT_WHEN_DUE);
        p->pair.book.now_ns = MAX(end_ns, trace_slice_begin_ns(p->config.writer));
}

bool pipeline_begin_cut(struct pipeline *p) {
        if (p->cut_time != UINT64_MAX)
                return false;
        p->cut_time = pipeline_now(p);
        return true;
}

void pipeline_keep_until_cut(struct pipeline *p, uint32_t process_idx) {
        struct process *process = forks_find(p, process_idx);

        if (process && !process->is_ending)
                process->cut_time = p->cut_time;
}

bool pipeline_is_cutting(const struct pipeline *p) {
        return p->cut_time != UINT64_MAX;
}

void pipeline_set_main(struct pipeline *p, uint32_t trace_process) {
        p->sites.main_process = trace_process;
}

/* Whose they were is not known: the main process answers for them. */
static void pipeline_count_unslotted(struct pipeline *p) {
        uint64_t n = pipeline_n_unslotted(p);
        struct figures *f = p->sites.main_process < p->sites.processes.n
                                    ? p->sites.processes.items[p->sites.main_process]
                                    : NULL;

        if (n == 0 || !f)
                return;
        pipeline_check_slice(p);
        if (f->first_thread == TRACE_NO_THREAD) { /* nothing else of it was seen */
                f->first_thread =
                        trace_add_thread(p->config.writer,
                                         &(struct trace_thread){.process = p->sites.main_process,
                                                                .start_ns = p->pair.book.now_ns});
                book_add_thread(&p->pair.book, f->first_thread);
        }
        sites_counts(&p->sites, f, p->pair.book.now_ns)->n_lost += n;
        trace_put_other(p->config.writer, f->first_thread, p->pair.book.now_ns, TRACE_LOST, n, 0,
                        0);
        p->n_unslotted_told += n;
}

void pipeline_finish(struct pipeline *p, uint64_t end_ns) {
        p->is_finishing = true;
        for (int i = 0; i < PUMP_MAX_ROUNDS && (pipeline_pump(p) > 0 || order_first(&p->order));
             i++)
                ;
        pair_expire_all(&p->pair);
        pipeline_count_unslotted(p);
        for (size_t i = 0; i < p->active.n; i++)
                pipeline_settle_look(p, p->active.items[i], true);
        end_ns = MAX(end_ns, p->pair.book.now_ns);
        tally_write_all(p);
        sites_end_slice(&p->sites, end_ns, SITES_CHECKPOINT_ALWAYS);
        p->pair.book.now_ns = end_ns;
}

void pipeline_put_tallies(struct pipeline *p) {
        tally_write_all(p);
}

/* ---- pages of large blocks ---------------------------------------------------------------------- */

bool pipeline_wants_look(const struct pipeline *p, uint32_t process_idx, bool has_changed) {
        const struct process *process =
                process_idx < p->n_processes ? p->processes[process_idx] : NULL;
        const struct residency *r = process ? process->residency : NULL;

        return r && r->blocks.n > 0 && !process->is_ending && (has_changed || r->wants_more) &&
               (!r->look_ns || pipeline_time_ns(p, p->final_time) > r->look_ns);
}

bool pipeline_look(struct pipeline *p, uint32_t process_idx, int pagemap_fd, uint64_t now_ns,
                   struct residency_budget *budget) {
        struct process *process = p->processes[process_idx];
        struct residency *r = process->residency;

        residency_settle(r, &process->live, true);
        residency_write(r, p->config.writer, false);
        residency_look(r, &process->live, pagemap_fd, now_ns, budget);
        return r->wants_more;
}

/* ---- what is given back while pages are looked at -------------------------------------------- */

void pipeline_begin_released(struct pipeline *p, uint32_t process_idx) {
        struct process *process = process_idx < p->n_processes ? p->processes[process_idx] : NULL;

        if (process && !process->released)
                process->released = released_new();
}

void pipeline_take_released(struct pipeline *p, uint32_t process_idx,
                            void (*fn)(void *ctx, uint64_t begin, uint64_t end), void *ctx) {
        struct process *process = process_idx < p->n_processes ? p->processes[process_idx] : NULL;
        struct released *r = process ? process->released : NULL;

        for (size_t i = 0; r && fn && i < r->ranges.n; i++)
                fn(ctx, r->ranges.items[i].begin, r->ranges.items[i].end);
        if (process)
                process->released = released_free(r);
}

void pipeline_settle_look(struct pipeline *p, struct process *process, bool is_valid) {
        if (!process->residency)
                return;
        residency_settle(process->residency, &process->live, is_valid);
        residency_write(process->residency, p->config.writer, true);
}
