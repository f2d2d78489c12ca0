/* SPDX-License-Identifier: MIT */
/* Records of a slot become events: times in nanoseconds, threads known, stacks hashed, then looked up. Events of blocks
 * go through a small batch, so that the memory each of them needs is on its way before its turn comes:
 *
 *   decoding  fetches  the row of the stack's hash, the bucket of the block
 *   looking up         the site that either leads to
 *   applying           nothing: all is there */
#include <stdio.h>

#include "base/units.h"
#include "pipeline/pipeline_state.h"
#include "trace/writer.h"

enum { MAX_MARKS = 10000, HEAP_TRIES = 4 };

#define MAX_LOST ((uint64_t)1 << 40) /* more in one word is nonsense */

static uint32_t decode_intern(struct pipeline *p, struct slot *s, const struct batch_stack *b) {
        uint32_t depth = stack_word_n_kept(b->word) + stack_word_n_new(b->word);

        return callpath_intern(&s->path, depth, &p->intern, s->process->space);
}

static uint32_t decode_find_stack(struct pipeline *p, struct slot *s, const struct batch_stack *b) {
        const struct path *path = paths_find(&s->process->space->paths, b->hash);

        callpath_take(&s->path, b->word);
        return path ? path->stack : decode_intern(p, s, b);
}

/* The stack of an allocation and its site. */
static inline void decode_find_site(struct pipeline *p, struct slot *s, const struct batch_stack *b,
                                    struct pair_event *e) {
        const struct process *process = s->process;
        struct intern_space *space = process->space;
        struct path *path = paths_find(&space->paths, b->hash);

        if (likely(path && path->site != PATH_NO_SITE && space->sites_of == process->trace_id)) {
                callpath_take(&s->path, b->word);
                e->stack = path->stack;
                e->site = path->site;
                return;
        }
        e->stack = decode_find_stack(p, s, b);
        e->site = sites_find(&p->sites, process->figures, e->stack);
        path = paths_find(&space->paths, b->hash);
        if (path && space->sites_of == process->trace_id)
                path->site = e->site;
}

static void decode_look_up(struct pipeline *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                struct pair_event *e = &p->batch[i];

                struct slot *s = p->drain.slots[e->slot_no];
                const struct batch_stack *b = &p->batch_stacks[i];

                if (event_allocates(e)) {
                        decode_find_site(p, s, b, e);
                        sites_prefetch(&p->sites, e->site, false);
                        trace_prefetch_stack(p->config.writer, e->stack);
                } else if (b->word) {
                        e->stack = decode_find_stack(p, s, b);
                }
                if (e->kind != WIRE_ALLOC)
                        pair_prefetch_site(&p->pair, e);
        }
}

void decode_flush(struct pipeline *p) {
        size_t n = p->n_batch;

        if (n == 0)
                return;
        p->n_batch = 0;
        pipeline_check_slice(p);
        decode_look_up(p, n);
        pair_apply_all(&p->pair, p->batch, n);
}

/* ---- who ---------------------------------------------------------------------------------------- */

static uint32_t decode_find_thread(struct pipeline *p, struct process *process, uint32_t tid,
                                   uint64_t time_ns) {
        const struct pipeline_calls *calls = &p->config.calls;
        struct trace_thread t = {.process = process->trace_id, .tid = tid, .start_ns = time_ns};
        bool added;
        uint64_t *thread = map_put(&process->threads, tid, 0, &added);

        if (!added && *thread != UINT64_MAX)
                return (uint32_t)*thread;
        *thread = trace_add_thread(p->config.writer, &t);
        process->n_threads++;
        if (process->figures->first_thread == TRACE_NO_THREAD)
                process->figures->first_thread = (uint32_t)*thread;
        book_add_thread(&p->pair.book, (uint32_t)*thread);
        if (calls->thread_name) {
                const char *name = calls->thread_name(calls->ctx, process->pid, tid);

                if (name && name[0])
                        trace_name_thread(p->config.writer, (uint32_t)*thread, name);
        }
        return (uint32_t)*thread;
}

/* The first record of a thread: whose is it? */
static bool decode_attach(struct pipeline *p, struct slot *s, uint64_t time_ns) {
        struct process *process = forks_find(p, s->process_idx);

        if (!process) {
                drain_break(&p->drain, s, "it names a process that is not there");
                return false;
        }
        decode_flush(p);
        if (!process->is_started)
                forks_start(p, process);
        s->process = process;
        s->thread = decode_find_thread(p, process, s->tid, time_ns);
        return true;
}

/* ---- what --------------------------------------------------------------------------------------- */

/* Hashes the stack of a record and fetches what it will be looked up in. */
static inline bool decode_stack(struct pipeline *p, struct slot *s, const uint64_t *word,
                                struct batch_stack *ret) {
        if (unlikely(!callpath_hash(&s->path, &p->intern.key, word, &ret->hash)))
                return false;
        ret->word = word;
        paths_prefetch(&s->process->space->paths, ret->hash);
        return true;
}

static void decode_module(struct pipeline *p, struct slot *s, const uint64_t *words) {
        char name[WIRE_MAX_NAME + 1];
        struct pipeline_module m = {
                .process_idx = s->process_idx,
                .pid = s->process->pid,
                .name = name,
                .bias = words[1],
                .begin = words[2],
                .end = words[3],
        };

        memcpy(name, words + 5, words[4]);
        name[words[4]] = '\0';
        intern_add_module(&p->intern, &s->process->space, s->process->trace_id, &m);
}

static void decode_thread_name(struct pipeline *p, struct slot *s, const uint64_t *words) {
        char name[17] = "";

        memcpy(name, words + 1, 16);
        trace_name_thread(p->config.writer, s->thread, name);
}

static uint64_t decode_now_ns(struct pipeline *p, uint64_t time_ns) {
        if (time_ns > p->pair.book.now_ns)
                p->pair.book.now_ns = time_ns;
        return p->pair.book.now_ns;
}

static void decode_mapping(struct pipeline *p, struct slot *s, const uint64_t *words,
                           uint32_t stack, uint64_t time_ns) {
        struct trace_mapping m = {
                .process = s->process->trace_id,
                .thread = s->thread,
                .stack = stack,
                .time_ns = decode_now_ns(p, time_ns),
                .address = words[1],
                .size_bytes = words[2],
        };

        switch (words[0] & 0xff) {
        case WIRE_MMAP:
                m.op = TRACE_MMAP;
                m.prot = (uint32_t)words[3];
                m.flags = (uint32_t)(words[3] >> 32);
                break;
        case WIRE_MUNMAP: m.op = TRACE_MUNMAP; break;
        case WIRE_MREMAP:
                m.op = TRACE_MREMAP;
                m.old_address = words[1];
                m.old_size_bytes = words[2];
                m.address = words[3];
                m.size_bytes = words[4];
                break;
        default:
                m.op = TRACE_BRK;
                m.old_address = words[1];
                m.address = words[2];
                m.size_bytes = words[2] - words[1];
                break;
        }
        if (m.op != TRACE_MUNMAP && p->config.calls.on_mapping && m.size_bytes < UINT64_MAX / 2)
                p->config.calls.on_mapping(p->config.calls.ctx, s->process->idx,
                                           m.op == TRACE_BRK ? m.old_address : m.address,
                                           m.op == TRACE_BRK ? m.address
                                                             : m.address + m.size_bytes);
        trace_put_mapping(p->config.writer, &m);
}

/* ---- marks (silt.h) -------------------------------------------------------------------------------- */

static void decode_mark(struct pipeline *p, struct slot *s, const uint64_t *words,
                        uint64_t time_ns) {
        char text[WIRE_MAX_MARK + 32];
        size_t n = (size_t)snprintf(text, sizeof(text), "mark %u: ", s->process->pid);

        /* a microsecond that events before it have not reached and those behind it do not fall short of */
        time_ns = decode_now_ns(p, decode_now_ns(p, time_ns) / 1000 * 1000 + 1000);
        if (p->n_marks++ >= MAX_MARKS) {
                if (p->n_marks == MAX_MARKS + 1)
                        trace_put_note(p->config.writer, time_ns,
                                       "only the first 10,000 marks were kept");
                return;
        }
        memcpy(text + n, words + 2, words[1]);
        text[n + words[1]] = '\0';
        for (char *c = text; *c; c++) /* one line */
                *c = (unsigned char)*c < ' ' ? ' ' : *c;
        trace_put_note(p->config.writer, time_ns, text);
}

/* ---- programs that are not seen ---------------------------------------------------------------------- */

static void decode_unseen(struct pipeline *p, struct slot *s, const uint64_t *words) {
        const struct pipeline_calls *calls = &p->config.calls;
        unsigned why = (unsigned)(words[1] >> 32 & 0xff);
        char text[WIRE_MAX_MARK + 1];

        if (!calls->on_unseen || (why & ~(unsigned)WIRE_UNSEEN_NOT) == WIRE_UNSEEN_NONE ||
            (why & ~(unsigned)WIRE_UNSEEN_NOT) >= WIRE_UNSEEN_N)
                return;
        memcpy(text, words + 3, words[2]);
        text[words[2]] = '\0';
        for (char *c = text; *c; c++) /* one line, and what it says in a note has an end */
                *c = (unsigned char)*c < ' ' || *c == '\'' || *c == 0x7f ? '?' : *c;
        calls->on_unseen(calls->ctx, s->process->idx, (uint32_t)words[1], why, text);
}

/* ---- the rest --------------------------------------------------------------------------------------- */

static void decode_lost(struct pipeline *p, struct slot *s, uint64_t time_ns, uint64_t n) {
        struct pair_event e = {.time_ns = time_ns,
                               .process = s->process,
                               .thread = s->thread,
                               .slot_no = s->no};

        s->has_realloc = false;
        pipeline_check_slice(p);
        pair_lost(&p->pair, &e, n);
}

void decode_count_lost(struct pipeline *p, struct slot *s) {
        /* relaxed: a counter, read when its thread is gone or has published it before a record */
        uint64_t told = atomic_load_explicit(&s->shared->n_lost_events, memory_order_relaxed);
        uint64_t n = s->n_lost;

        if (s->is_dead && told > s->n_lost_told && told < MAX_LOST)
                n += told - s->n_lost_told;
        s->n_lost = 0;
        if (n == 0)
                return;
        if (!s->process && ((s->is_broken && !forks_find(p, s->process_idx)) ||
                            !decode_attach(p, s, p->pair.book.now_ns))) {
                p->n_orphans += n;
                return;
        }
        decode_flush(p);
        decode_lost(p, s, p->pair.book.now_ns, n);
        if (s->is_dead)
                s->n_lost_told = told;
}

/* A kind that is no event of a block: all events so far come first. */
static void decode_rare(struct pipeline *p, struct slot *s, const uint64_t *words,
                        const struct batch_stack *b, uint64_t time_ns) {
        uint32_t stack = 0;
        uint64_t n;

        decode_flush(p);
        if (b->word)
                stack = decode_find_stack(p, s, b);
        switch (words[0] & 0xff) {
        case WIRE_MODULE: decode_module(p, s, words); break;
        case WIRE_THREAD_NAME: decode_thread_name(p, s, words); break;
        case WIRE_FREE_RANGE: bulk_free_range(p, s, words, time_ns); break;
        case WIRE_HEAP: bulk_heap(p, s, words, time_ns); break;
        case WIRE_MARK: decode_mark(p, s, words, time_ns); break;
        case WIRE_UNSEEN: decode_unseen(p, s, words); break;
        case WIRE_FORK:
                decode_now_ns(p, time_ns);
                forks_take_snapshot(p, s->process, words[0] >> 8);
                break;
        case WIRE_FORK_DONE: forks_done(p, s->process, time_ns); break;
        case WIRE_EXEC: s->exec_end_pos = words[1] == 1 ? s->head_pos + 2 * 8 : 0; break;
        case WIRE_LOST:
                n = MIN(words[1], MAX_LOST);
                s->n_lost_told += n;
                decode_lost(p, s, time_ns, n);
                break;
        case WIRE_MMAP:
        case WIRE_MUNMAP:
        case WIRE_MREMAP:
        case WIRE_BRK: decode_mapping(p, s, words, stack, time_ns); break;
        default: break;
        }
}

static void decode_count_share(struct process *process, unsigned allocator, uint64_t size_bytes,
                               uint64_t n_blocks) {
        if (!process->shares)
                process->shares = calloc(WIRE_N_ALLOCATORS, sizeof(process->shares[0]));
        if (!process->shares)
                return;
        process->shares[allocator].n_allocs += n_blocks;
        process->shares[allocator].alloc_bytes += size_bytes * n_blocks;
}

/* What allocators inside the program are asked for; the rest is the loader's. */
static inline void decode_share(struct process *process, uint64_t stack_word, uint64_t size_bytes) {
        unsigned allocator = wire_stack_allocator(stack_word);

        if (unlikely(allocator != 0))
                decode_count_share(process, allocator, size_bytes, 1);
}

/* A sampled allocation or its release, as the kinds it is one of. False: values no runtime gives. */
static bool decode_sample(struct pipeline *p, struct slot *s, const uint64_t *words,
                          struct pair_event *e) {
        unsigned allocator;

        e->address = words[1];
        e->stack = 0;
        if (!p->pair.is_sampled || e->address == 0)
                return false;
        if ((words[0] & 0xff) == WIRE_SAMPLE_FREE) {
                e->kind = WIRE_FREE;
                e->size_bytes = WIRE_NO_SIZE;
                e->n_thread_allocs = (uint32_t)words[2];
                e->hint = live_prefetch(&s->process->live, e->address);
                return true;
        }
        e->kind = WIRE_ALLOC;
        e->size_bytes = words[2];
        e->mean_bytes = words[3];
        e->n_thread_allocs = (uint32_t)words[4];
        e->is_complete = words[5] >> 40 == WIRE_END_COMPLETE;
        if (e->size_bytes > BLOCK_MAX_BYTES)
                return false;
        allocator = wire_stack_allocator(words[5]);
        if (allocator != 0)
                decode_count_share(s->process, allocator, e->size_bytes,
                                   unit_nearest(weight_mean(e->size_bytes, e->mean_bytes)));
        e->new_hint = live_prefetch(&s->process->live, e->address);
        return true;
}

static bool decode_realloc_end(struct slot *s, const uint64_t *words, struct pair_event *e) {
        e->size_bytes = words[2];
        e->result = (uint8_t)words[3];
        e->is_complete = words[4] >> 40 == WIRE_END_COMPLETE;
        e->n_thread_allocs = (uint32_t)words[2]; /* sampled, released */
        e->old = s->has_realloc ? PAIR_OLD_BLOCK : PAIR_OLD_NONE;
        e->old_address = s->realloc_address;
        s->has_realloc = false;
        if (words[3] > WIRE_REALLOC_RELEASED)
                return false;
        if (e->result == WIRE_REALLOC_RELEASED)
                e->address = e->old_address;
        e->hint = live_prefetch(&s->process->live, e->old_address);
        return e->result != WIRE_REALLOC_OK || e->size_bytes <= BLOCK_MAX_BYTES;
}

/* The heap that was said to be that of the block at address; a handler's allocations may have come between. */
static uint32_t decode_take_heap(struct slot *s, uint64_t address) {
        bool is_it = s->heap_address == address;
        uint64_t id = s->heap_id;

        s->n_heap_tries++;
        if (is_it || s->n_heap_tries == HEAP_TRIES)
                s->has_heap = false;
        return is_it ? bulk_open_heap(s->process, id) : 0;
}

/* Fills the next batch entry; false: values no allocator gives. */
static bool decode_block_event(struct slot *s, const uint64_t *words, struct pair_event *e) {
        e->address = words[1];
        e->stack = 0;
        e->heap = 0;
        switch (e->kind) {
        case WIRE_ALLOC:
                e->size_bytes = words[2];
                e->is_complete = words[3] >> 40 == WIRE_END_COMPLETE;
                decode_share(s->process, words[3], e->size_bytes);
                break;
        case WIRE_FREE_SIZED:
        case WIRE_FREE_STACK: e->size_bytes = words[2]; break;
        case WIRE_REALLOC_BEGIN:
                s->has_realloc = true;
                s->realloc_address = words[1];
                break;
        case WIRE_REALLOC_END:
                if (!decode_realloc_end(s, words, e))
                        return false;
                if (e->result == WIRE_REALLOC_FAILED)
                        return true;
                if (e->result == WIRE_REALLOC_OK)
                        decode_share(s->process, words[4], e->size_bytes);
                break;
        case WIRE_FAILED: e->size_bytes = words[1]; return true;
        default: e->size_bytes = WIRE_NO_SIZE; break;
        }
        if (event_allocates(e))
                e->new_hint = live_prefetch(&s->process->live, e->address);
        else if (e->kind != WIRE_REALLOC_END)
                e->hint = live_prefetch(&s->process->live, e->address);
        /* 0 is no block */
        return e->address != 0 && (e->kind != WIRE_ALLOC || e->size_bytes <= BLOCK_MAX_BYTES);
}

static bool decode_is_block_event(unsigned kind) {
        return (kind >= WIRE_ALLOC && kind <= WIRE_FAILED) || kind == WIRE_SAMPLE ||
               kind == WIRE_SAMPLE_FREE;
}

static bool decode_record(struct pipeline *p, struct slot *s) {
        const uint64_t *words = s->words + s->head;
        uint32_t n_words = ring_record_words(words, slot_n_words_in_chunk(s));
        struct batch_stack stack = {NULL, 0};
        unsigned kind = words[0] & 0xff, at = wire_stack_at(kind);
        uint64_t time_ns = pipeline_time_ns(p, s->head_time);

        if (unlikely(n_words == 0)) {
                drain_break(&p->drain, s, "a record is malformed");
                return false;
        }
        if (unlikely(!s->process) && !decode_attach(p, s, time_ns))
                return false;
        if (at != 0 && unlikely(!decode_stack(p, s, words + at, &stack))) {
                drain_break(&p->drain, s, "a stack keeps more frames than there were");
                return false;
        }
        s->last_time = s->head_time;
        p->n_records++;
        if (kind == WIRE_POOL_ALLOC) {
                bulk_pool_alloc(p, s->process, words[1]);
                kind = WIRE_ALLOC;
        }
        if (kind == WIRE_HEAP && words[2] == WIRE_HEAP_NEXT) {
                bulk_expect_heap(p, s->process);
                s->has_heap = true;
                s->heap_id = words[1];
                s->heap_address = words[3];
                s->n_heap_tries = 0;
        } else if (likely(decode_is_block_event(kind))) {
                struct pair_event *e = &p->batch[p->n_batch];

                e->time_ns = time_ns;
                e->process = s->process;
                e->thread = s->thread;
                e->slot_no = s->no;
                e->kind = (uint8_t)kind;
                p->batch_stacks[p->n_batch] = stack;
                if (unlikely(kind >= WIRE_SAMPLE ? !decode_sample(p, s, words, e)
                                                 : !decode_block_event(s, words, e))) {
                        drain_break(&p->drain, s, "a record has impossible values");
                        return false;
                }
                if (unlikely(s->has_heap) && event_allocates(e))
                        e->heap = decode_take_heap(s, e->address);
                if (++p->n_batch == PIPELINE_BATCH)
                        decode_flush(p);
        } else {
                decode_rare(p, s, words, &stack, time_ns);
        }
        drain_consume(&p->drain, s, n_words);
        return true;
}

bool decode_settle(struct pipeline *p, struct slot *s) {
        while (slot_n_words(s) > 0) {
                uint64_t word = s->words[s->head];
                uint64_t time = word >> 8;

                if (unlikely(s->is_left)) {
                        drain_consume(&p->drain, s, slot_n_words_in_chunk(s));
                        continue;
                }
                if ((word & 0xff) == WIRE_PAD) {
                        size_t n = slot_n_words_in_chunk(s);

                        if ((s->head_pos + n * 8) % WIRE_CHUNK_BYTES != 0) {
                                drain_break(&p->drain, s, "padding does not reach the chunk's end");
                                return false;
                        }
                        drain_consume(&p->drain, s, n);
                        continue;
                }
                /* A clock ahead of the recorder's by more than a second is none. The recorder may have been stopped
                 * since it last looked at its own. */
                if (time > p->now + p->ticks_per_s && time > pipeline_now(p) + p->ticks_per_s) {
                        drain_break(&p->drain, s, "its time lies in the future");
                        return false;
                }
                if (unlikely(time > p->leave_time)) {
                        s->is_left = true;
                        continue;
                }
                s->head_time = MAX(time, s->last_time);
                return true;
        }
        return false;
}

_Static_assert(WIRE_FREE == 2 && WIRE_FREE_SIZED == 3, "they have as many words");

/* ---- the kinds that matter ------------------------------------------------------------------ */

static inline bool decode_fast_alloc(struct pipeline *p, struct slot *s, const uint64_t *words,
                                     struct pair_event *e) {
        if (unlikely(words[1] == 0 || words[2] > BLOCK_MAX_BYTES ||
                     words[3] >> 40 > WIRE_END_NONE ||
                     !decode_stack(p, s, words + 3, &p->batch_stacks[p->n_batch])))
                return false;
        e->kind = WIRE_ALLOC;
        e->heap = 0;
        e->address = words[1];
        e->size_bytes = words[2];
        e->is_complete = words[3] >> 40 == WIRE_END_COMPLETE;
        decode_share(s->process, words[3], e->size_bytes);
        e->new_hint = live_prefetch(&s->process->live, e->address);
        return true;
}

static inline bool decode_fast_free(struct pipeline *p, struct slot *s, const uint64_t *words,
                                    struct pair_event *e) {
        if (unlikely(words[1] == 0))
                return false;
        p->batch_stacks[p->n_batch].word = NULL;
        e->kind = words[0] & 0xff;
        e->address = words[1];
        e->size_bytes = e->kind == WIRE_FREE ? WIRE_NO_SIZE : words[2];
        e->stack = 0;
        e->hint = live_prefetch(&s->process->live, e->address);
        return true;
}

/* Words of an ALLOC, FREE or FREE_SIZED that is whole; 0: another kind, or not whole. */
static inline size_t decode_fast_words(const uint64_t *words, size_t n) {
        unsigned kind = words[0] & 0xff;
        size_t n_words;

        if (kind == WIRE_FREE || kind == WIRE_FREE_SIZED)
                return n >= kind ? kind : 0;
        if (kind != WIRE_ALLOC || n < 4)
                return 0;
        n_words = 4 + (words[3] >> 16 & 0xffff);
        return n_words <= n && n_words + (words[3] & 0xffff) <= WIRE_MAX_FRAMES ? n_words : 0;
}

/* Takes plain allocations and releases in one go, up to end_time, the chunk's end or anything else. */
static void decode_fast(struct pipeline *p, struct slot *s, uint64_t end_time) {
        const uint64_t *words = s->words + s->head, *begin = words;
        const uint64_t *end = words + slot_n_words_in_chunk(s);
        uint64_t time = s->head_time,
                 latest = MIN(MIN(end_time, p->leave_time), p->now + p->ticks_per_s);
        size_t n_words;

        while ((n_words = decode_fast_words(words, (size_t)(end - words))) > 0) {
                struct pair_event *e = &p->batch[p->n_batch];

                if (n_words < 4 ? !decode_fast_free(p, s, words, e)
                                : !decode_fast_alloc(p, s, words, e))
                        break;
                e->time_ns = pipeline_time_ns(p, time);
                e->process = s->process;
                e->thread = s->thread;
                e->slot_no = s->no;
                s->last_time = time;
                p->n_records++;
                words += n_words;
                if (++p->n_batch == PIPELINE_BATCH)
                        decode_flush(p);
                if (words == end || words[0] >> 8 > latest)
                        break;
                time = MAX(words[0] >> 8, time);
        }
        if (words > begin)
                drain_consume(&p->drain, s, (size_t)(words - begin));
}

bool decode_run(struct pipeline *p, struct slot *s, uint64_t end_time) {
        if (unlikely(s->head_time > p->leave_time) && !decode_settle(p, s))
                return false; /* it was settled before that time was known */
        for (;;) {
                if (likely(s->process && !s->has_heap))
                        decode_fast(p, s, end_time);
                if (!decode_settle(p, s))
                        return false;
                if (s->head_time > end_time)
                        return true;
                if (!decode_record(p, s) || !decode_settle(p, s))
                        return false;
                if (s->head_time > end_time)
                        return true;
        }
}
