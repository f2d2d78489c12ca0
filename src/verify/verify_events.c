/* SPDX-License-Identifier: MIT */
/* Decodes EVTS by the document, entry by entry, and keeps the books: which blocks are live, and
 * what each site and process did in the slice. */
#include "verify/verify_state.h"

struct stack_entry {
        uint64_t id, last_size_bytes;
        size_t follower, old_follower, last_free; /* entry numbers from 1; 0 none */
};

struct replay {
        struct verify *v;
        struct bytes_reader columns[TRACE_N_COLUMNS];
        uint64_t first_seq, time_us, last_old_seq;
        uint32_t n_events, n_allocs, flags;
        int n_columns;
        VEC(uint64_t) threads;          /* dictionary: thread + 1 */
        VEC(size_t) contexts;           /* by dictionary entry of the thread */
        VEC(struct stack_entry) stacks; /* [0] is the context "none" */
        size_t n_seen, old_context;
        VEC(struct verify_block) blocks; /* allocated in this slice */
        VEC(size_t) block_entries;       /* and the dictionary entries of their stacks */
        uint32_t event;                  /* at hand */
};

struct released {
        uint64_t seq, size_bytes;
        uint32_t stack, n_blocks;
        size_t entry;
};

static bool replay_bad(struct replay *p, enum trace_error error, const char *what) {
        return verify_bad(p->v, error, "event %u: %s", p->event, what);
}

static uint64_t replay_get(struct replay *p, enum trace_column column) {
        return bytes_varint(&p->columns[column]);
}

/* ---- stacks and sizes ------------------------------------------------------------------------ */

static bool replay_stack_code(struct replay *p, enum trace_column column, size_t follower,
                              size_t *ret) {
        uint64_t code = replay_get(p, column);

        if (code == 0) {
                if (!follower)
                        return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                          "its stack continues one that nothing has continued yet");
                *ret = follower;
        } else if (code == 1) {
                if (p->n_seen + 1 >= p->stacks.n)
                        return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                          "more new stacks than the dictionary has");
                *ret = ++p->n_seen;
        } else {
                if (code - 1 > p->n_seen)
                        return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                          "a stack that has not occurred yet");
                *ret = (size_t)(code - 1);
        }
        return true;
}

static uint64_t replay_size_code(struct replay *p, enum trace_column column, size_t entry) {
        uint64_t code = replay_get(p, column);

        if (code > 0)
                p->stacks.items[entry].last_size_bytes = code - 1;
        return p->stacks.items[entry].last_size_bytes;
}

/* ---- books ----------------------------------------------------------------------------------- */

static uint32_t replay_process(const struct replay *p, uint64_t thread) {
        return p->v->thread_process.items[thread];
}

static void book_peak(struct verify_process *q) {
        q->has_events = true;
        if (q->change_bytes > q->peak_change_bytes) {
                q->peak_change_bytes = q->change_bytes;
                q->peak_change_blocks = q->change_blocks;
        }
}

static void book_alloc(struct replay *p, uint32_t thread, uint64_t seq,
                       const struct verify_block *new, bool is_realloc) {
        uint32_t process = replay_process(p, thread);
        struct verify_process *q = &p->v->processes.items[process];
        struct trace_site *s = &verify_site_at(p->v, process, new->stack)->events;
        struct verify_block *b = verify_live_add(&p->v->live, process, seq);
        uint64_t bytes = new->size_bytes *new->n_blocks;

        b->stack = new->stack;
        b->size_bytes = new->size_bytes;
        b->n_blocks = new->n_blocks;
        b->thread = thread;
        p->v->last_seq.items[thread] = seq + 1;
        s->n_allocs += new->n_blocks;
        s->alloc_bytes += bytes;
        s->n_reallocs += is_realloc ? new->n_blocks : 0;
        q->events.n_allocs += new->n_blocks;
        q->events.alloc_bytes += bytes;
        q->events.n_reallocs += is_realloc ? new->n_blocks : 0;
        q->change_blocks += new->n_blocks;
        q->change_bytes += (int64_t)bytes;
        book_peak(q);
}

/* The block must be live in the process, or inherited and not released there before: then by no thread of it. */
static bool book_take_block(struct replay *p, uint32_t process, const struct released *x,
                            bool *ret_own, uint32_t *ret_thread) {
        struct verify_live *live = &p->v->live;
        struct verify_block *b = verify_live_find(live, process, x->seq);
        uint32_t ancestor = p->v->processes.items[process].parent;

        *ret_own = b != NULL;
        *ret_thread = b ? b->thread : TRACE_NO_THREAD;
        if (b && b->size_bytes == UINT64_MAX)
                return replay_bad(p, TRACE_E_BAD_REFERENCE, "frees an inherited block twice");
        if (b) {
                bool same = b->stack == x->stack && b->size_bytes == x->size_bytes &&
                            b->n_blocks == x->n_blocks;

                verify_live_remove(live, b);
                return same || replay_bad(p, TRACE_E_BAD_REFERENCE,
                                          "stack or size differs from the block it frees");
        }
        if (ancestor == TRACE_NO_PROCESS)
                return p->v->lacks_events ||
                       replay_bad(p, TRACE_E_BAD_REFERENCE, "frees a block that is not live");
        for (; ancestor != TRACE_NO_PROCESS; ancestor = p->v->processes.items[ancestor].parent) {
                b = verify_live_find(live, ancestor, x->seq);
                if (b && b->size_bytes != UINT64_MAX &&
                    (b->stack != x->stack || b->size_bytes != x->size_bytes ||
                     b->n_blocks != x->n_blocks))
                        return replay_bad(p, TRACE_E_BAD_REFERENCE,
                                          "stack or size differs from the block it inherited");
        }
        verify_live_add(live, process, x->seq)->size_bytes = UINT64_MAX;
        return true;
}

static bool book_release(struct replay *p, uint32_t thread, const struct released *x,
                         bool is_implicit, bool is_free) {
        uint32_t process = replay_process(p, thread);
        struct verify_process *q = &p->v->processes.items[process];
        struct trace_site *s = &verify_site_at(p->v, process, x->stack)->events;
        uint64_t n = x->n_blocks, bytes = x->size_bytes * n;
        bool own, temporary;
        uint32_t block_thread;

        if (!book_take_block(p, process, x, &own, &block_thread))
                return false;
        if (!is_implicit)
                verify_moves_release(p->v, thread, block_thread, x->stack, x->size_bytes, is_free);
        temporary = !is_implicit && p->v->last_seq.items[thread] == x->seq + 1;
        if (temporary)
                verify_moves_forget(p->v, thread);
        s->n_frees += n;
        s->free_bytes += bytes;
        s->n_temporary += temporary ? n : 0;
        s->n_inherited_frees += own ? 0 : n;
        s->inherited_free_bytes += own ? 0 : bytes;
        q->events.n_frees += is_implicit ? 0 : n;
        q->events.n_implicit_frees += is_implicit ? n : 0;
        q->events.n_temporary += temporary ? n : 0;
        q->change_blocks -= (int64_t)n;
        q->change_bytes -= (int64_t)bytes;
        q->has_events = true;
        return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t replay_weight(struct replay *p, enum trace_column column) {
        uint64_t n = p->flags & TRACE_IS_SAMPLED ? replay_get(p, column) : 1;

        if (n == 0 || n > UINT32_MAX)
                p->columns[column].bad = true;
        return (uint32_t)n;
}

/* old: that realloc released for it; NULL: it is no realloc. */
static bool replay_new_block(struct replay *p, size_t thread_entry, uint32_t thread,
                             const struct released *old) {
        struct stack_entry *context = &p->stacks.items[p->contexts.items[thread_entry]];
        struct verify_block b = {.thread = thread};
        size_t entry = 0;

        if (!replay_stack_code(p, TRACE_COL_STACKS, context->follower, &entry))
                return false;
        context->follower = p->contexts.items[thread_entry] = entry;
        b.stack = (uint32_t)p->stacks.items[entry].id;
        b.size_bytes = replay_size_code(p, TRACE_COL_SIZES, entry);
        b.n_blocks = replay_weight(p, TRACE_COL_WEIGHTS);
        if (p->blocks.n >= p->n_allocs)
                return replay_bad(p, TRACE_E_BAD_PAYLOAD, "more allocations than the head says");
        book_alloc(p, thread, p->first_seq + p->blocks.n, &b, old);
        if (old)
                verify_moves_realloc(p->v, thread, b.stack, old->size_bytes, b.size_bytes);
        else
                verify_moves_alloc(p->v, thread, b.stack, b.size_bytes);
        vec_push(&p->blocks, b);
        vec_push(&p->block_entries, entry);
        if (p->flags & TRACE_HAS_ADDRESSES)
                replay_get(p, TRACE_COL_ADDRESSES);
        return true;
}

static bool replay_old_block(struct replay *p, struct released *ret) {
        struct stack_entry *context = &p->stacks.items[p->old_context];
        size_t entry = 0;

        p->last_old_seq += (uint64_t)bytes_unzigzag(replay_get(p, TRACE_COL_OLD_SEQS));
        if (p->last_old_seq >= p->first_seq)
                return replay_bad(p, TRACE_E_BAD_REFERENCE, "an old block that is not old");
        if (!replay_stack_code(p, TRACE_COL_OLD_STACKS, context->old_follower, &entry))
                return false;
        context->old_follower = p->old_context = entry;
        *ret = (struct released){p->last_old_seq, replay_size_code(p, TRACE_COL_OLD_SIZES, entry),
                                 (uint32_t)p->stacks.items[entry].id,
                                 replay_weight(p, TRACE_COL_OLD_WEIGHTS), entry};
        return true;
}

static bool replay_release(struct replay *p, struct released *ret) {
        uint64_t distance = replay_get(p, TRACE_COL_RELEASES);
        size_t i;

        if (distance == 0)
                return replay_old_block(p, ret);
        if (distance > p->blocks.n)
                return replay_bad(p, TRACE_E_BAD_REFERENCE,
                                  "frees a block from before the slice by distance");
        i = p->blocks.n - (size_t)distance;
        *ret = (struct released){p->first_seq + i, p->blocks.items[i].size_bytes,
                                 p->blocks.items[i].stack, p->blocks.items[i].n_blocks,
                                 p->block_entries.items[i]};
        return true;
}

static bool replay_free_stack(struct replay *p, size_t block_entry) {
        uint64_t code = replay_get(p, TRACE_COL_FREE_STACKS);

        if (code == 0)
                return p->stacks.items[block_entry].last_free ||
                       replay_bad(p, TRACE_E_BAD_PAYLOAD, "freed where nothing has been freed yet");
        if (code == p->n_seen + 1 && code < p->stacks.n)
                p->n_seen++;
        if (code > p->n_seen)
                return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                  "freed at a stack that has not occurred yet");
        p->stacks.items[block_entry].last_free = (size_t)code;
        return true;
}

static bool replay_other(struct replay *p, uint64_t thread_id) {
        uint8_t other = bytes_u8(&p->columns[TRACE_COL_OTHERS]);
        struct trace_counts *c = NULL;
        struct released x;
        uint64_t value;

        if (other > (p->flags & TRACE_IS_SAMPLED ? TRACE_UNSAMPLED : TRACE_WRONG_SIZE))
                return replay_bad(p, TRACE_E_BAD_PAYLOAD, "an unknown kind of event");
        if (other == TRACE_IMPLICIT_FREE) {
                if (!thread_id)
                        return replay_bad(p, TRACE_E_BAD_ID, "a free by no thread");
                return replay_release(p, &x) &&
                       book_release(p, (uint32_t)thread_id - 1, &x, true, false);
        }
        value = replay_get(p, TRACE_COL_VALUES);
        if (!thread_id)
                return true;
        p->v->processes.items[replay_process(p, thread_id - 1)].has_events = true;
        c = &p->v->processes.items[replay_process(p, thread_id - 1)].events;
        c->n_unknown_frees += other == TRACE_UNKNOWN_FREE;
        c->n_prior_frees += other == TRACE_PRIOR_FREE;
        c->n_failed += other == TRACE_FAILED;
        c->n_lost += other == TRACE_LOST ? value : 0;
        c->n_wrong_sizes += other == TRACE_WRONG_SIZE;
        if (other == TRACE_UNSAMPLED)
                p->v->last_seq.items[thread_id - 1] = 0;
        return true;
}

static bool replay_event(struct replay *p, unsigned op, size_t thread_entry) {
        uint64_t thread_id = p->threads.items[thread_entry];
        uint32_t thread = (uint32_t)thread_id - 1;
        struct released x;

        if (op == TRACE_OTHER)
                return replay_other(p, thread_id);
        if (!thread_id)
                return replay_bad(p, TRACE_E_BAD_ID, "of no thread");
        if (op == TRACE_ALLOC)
                return replay_new_block(p, thread_entry, thread, NULL);
        if (!replay_release(p, &x) || !book_release(p, thread, &x, false, op == TRACE_FREE))
                return false;
        if (op == TRACE_REALLOC)
                return replay_new_block(p, thread_entry, thread, &x);
        return !(p->flags & TRACE_HAS_FREE_STACKS) || replay_free_stack(p, x.entry);
}

static bool replay_run(struct replay *p) {
        const uint8_t *ops = p->columns[TRACE_COL_OPS].pos;
        uint64_t left = 0, thread_entry = 0;

        for (p->event = 0; p->event < p->n_events; p->event++) {
                if (!left) {
                        thread_entry = replay_get(p, TRACE_COL_RUN_THREADS);
                        left = replay_get(p, TRACE_COL_RUN_LENGTHS) + 1;
                        if (thread_entry >= p->threads.n)
                                return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                                  "a thread that the dictionary does not have");
                        if (left > p->n_events - p->event || !left)
                                return replay_bad(p, TRACE_E_BAD_PAYLOAD,
                                                  "a run beyond the last event");
                }
                left--;
                p->time_us += replay_get(p, TRACE_COL_TIMES);
                if (!replay_event(p, ops[p->event / 4] >> (p->event % 4 * 2) & 3,
                                  (size_t)thread_entry))
                        return false;
        }
        return true;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool replay_dictionaries(struct replay *p, uint64_t n_threads, uint64_t n_stacks) {
        uint64_t id = 0;

        for (uint64_t i = 0; i < n_threads && !p->columns[TRACE_COL_THREAD_IDS].bad; i++) {
                uint64_t thread = replay_get(p, TRACE_COL_THREAD_IDS);

                if (thread > p->v->n_threads)
                        return verify_bad(p->v, TRACE_E_BAD_ID, "thread %llu is not defined",
                                          (unsigned long long)thread - 1);
                vec_push(&p->threads, thread);
                vec_push(&p->contexts, 0);
        }
        vec_add(&p->stacks);
        for (uint64_t i = 0; i < n_stacks && !p->columns[TRACE_COL_STACK_IDS].bad; i++) {
                id += (uint64_t)bytes_unzigzag(replay_get(p, TRACE_COL_STACK_IDS));
                if (id >= p->v->n_stacks)
                        return verify_bad(p->v, TRACE_E_BAD_ID, "stack %llu is not defined",
                                          (unsigned long long)id);
                vec_push(&p->stacks, (struct stack_entry){.id = id});
        }
        return true;
}

static bool replay_columns(struct replay *p, struct bytes_reader *r) {
        uint64_t lengths[TRACE_N_COLUMNS], last_ops = p->n_events % 4;

        for (int i = 0; i < p->n_columns; i++)
                lengths[i] = bytes_varint(r);
        for (int i = 0; i < p->n_columns; i++) {
                const uint8_t *at =
                        lengths[i] <= bytes_left(r) ? bytes_take(r, (size_t)lengths[i]) : NULL;

                if (!at)
                        return verify_bad(p->v, TRACE_E_BAD_PAYLOAD,
                                          "column %d is longer than the chunk", i);
                p->columns[i] = bytes_reader_of(at, (size_t)lengths[i]);
        }
        if (bytes_left(r))
                return verify_bad(p->v, TRACE_E_BAD_PAYLOAD, "%zu bytes are left over",
                                  bytes_left(r));
        if (lengths[TRACE_COL_OPS] != (p->n_events + 3u) / 4)
                return verify_bad(p->v, TRACE_E_BAD_PAYLOAD, "ops for other than its %u events",
                                  p->n_events);
        if (last_ops && p->columns[TRACE_COL_OPS].end[-1] >> (last_ops * 2))
                return verify_bad(p->v, TRACE_E_BAD_PAYLOAD, "unused bits of ops are not zero");
        return true;
}

static bool replay_is_used_up(struct replay *p) {
        for (int i = TRACE_COL_OPS + 1; i < p->n_columns; i++) {
                if (p->columns[i].bad)
                        return verify_bad(p->v, TRACE_E_BAD_PAYLOAD, "column %d ends too early", i);
                if (bytes_left(&p->columns[i]))
                        return verify_bad(p->v, TRACE_E_BAD_PAYLOAD,
                                          "column %d has %zu bytes too many", i,
                                          bytes_left(&p->columns[i]));
        }
        if (p->blocks.n != p->n_allocs)
                return verify_bad(p->v, TRACE_E_BAD_PAYLOAD, "%zu allocations, the head says %u",
                                  p->blocks.n, p->n_allocs);
        if (p->n_seen + 1 != p->stacks.n)
                return verify_bad(p->v, TRACE_E_BAD_PAYLOAD,
                                  "the dictionary has stacks that no event uses");
        return true;
}

static bool evts_check_head(struct verify *v, const struct replay *p) {
        if (v->has_evts)
                return verify_bad(v, TRACE_E_BAD_ORDER, "a second EVTS in one slice");
        if (bytes_le32(v->head) != v->n_slices)
                return verify_bad(v, TRACE_E_BAD_ORDER, "events of slice %u, but %llu is next",
                                  bytes_le32(v->head), (unsigned long long)v->n_slices);
        if (!p->n_events || p->n_events > TRACE_MAX_SLICE_EVENTS || p->n_allocs > p->n_events)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "%u events, %u allocations", p->n_events,
                                  p->n_allocs);
        if (p->first_seq != v->next_seq)
                return verify_bad(v, TRACE_E_BAD_ORDER,
                                  "begins with allocation %llu, but %llu is next",
                                  (unsigned long long)p->first_seq,
                                  (unsigned long long)v->next_seq);
        if (p->time_us * 1000 != v->end_ns)
                return verify_bad(v, TRACE_E_BAD_ORDER,
                                  "begins at %llu us, not where the slice before ends",
                                  (unsigned long long)p->time_us);
        if ((v->header[TRACE_VERSION_OFF] == TRACE_EVTS_VERSION) !=
            ((p->flags & TRACE_IS_SAMPLED) != 0))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "flags that its version does not have");
        if (p->flags != (v->meta_flags & TRACE_EVENT_FLAGS))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "flags %u, META says %u", p->flags,
                                  v->meta_flags);
        return true;
}

static void replay_done(struct replay *p) {
        vec_free(&p->threads);
        vec_free(&p->contexts);
        vec_free(&p->stacks);
        vec_free(&p->blocks);
        vec_free(&p->block_entries);
}

bool verify_evts_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        struct replay p = {
                .v = v,
                .n_events = bytes_le32(v->head + 4),
                .first_seq = bytes_le64(v->head + 8),
                .last_old_seq = bytes_le64(v->head + 8),
                .time_us = bytes_le64(v->head + 16),
                .n_allocs = bytes_le32(v->head + 24),
                .flags = bytes_le32(v->head + 28),
        };
        uint64_t n_threads, n_stacks;
        bool ok;

        p.n_columns = p.flags & TRACE_IS_SAMPLED ? TRACE_N_COLUMNS : TRACE_N_EXACT_COLUMNS;
        if (v->head_bytes != TRACE_EVTS_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (!evts_check_head(v, &p))
                return false;
        n_threads = bytes_varint(&r);
        n_stacks = bytes_varint(&r);
        ok = replay_columns(&p, &r) && replay_dictionaries(&p, n_threads, n_stacks) &&
             replay_run(&p) && replay_is_used_up(&p);
        replay_done(&p);
        v->has_evts = true;
        v->evts_is_bad = !ok;
        v->lacks_events |= !ok;
        v->evts_n_events = p.n_events;
        v->evts_n_allocs = p.n_allocs;
        v->last_event_us = p.time_us;
        return ok;
}
