/* SPDX-License-Identifier: MIT */
/* Records of a slot become events: times in nanoseconds, threads known, stacks looked up; each is applied at once. */
#include <stdio.h>

#include "base/units.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/released.h"
#include "trace/fail_note.h"
#include "trace/writer.h"

enum { MAX_MARKS = 10000, MAX_FAILS = 1000, HEAP_TRIES = 4 };

#define MAX_LOST ((uint64_t)1 << 40) /* more in one word is nonsense */

/* ---- who ---------------------------------------------------------------------------------------- */

uint32_t decode_find_thread(struct pipeline *p, struct process *process, uint32_t tid,
                            uint64_t time_ns) {
        const struct pipeline_calls *calls = &p->config.calls;
        struct trace_thread t = {.process = process->trace_id, .tid = tid, .start_ns = time_ns};
        bool added;
        uint64_t *thread = map_put(&process->threads, tid, 0, &added);

        if (!added && !(*thread & PROCESS_THREAD_IS_OVER))
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
        if (!process->is_started)
                forks_start(p, process);
        s->process = process;
        s->thread = decode_find_thread(p, process, s->tid, time_ns);
        return true;
}

/* ---- what --------------------------------------------------------------------------------------- */

/* The place of what a token names from now on. */
static struct slot_token *decode_give_token(struct slot *s, uint32_t token) {
        size_t n = s->tokens.n;

        if (token > n) {
                vec_reserve(&s->tokens, token - n);
                memset(s->tokens.items + n, 0, (token - n) * sizeof(s->tokens.items[0]));
                s->tokens.n = token;
        }
        return &s->tokens.items[token - 1];
}

struct slot_token *decode_stack(struct pipeline *p, struct slot *s, const uint64_t *word) {
        struct intern_space *space = s->process->space;
        uint32_t token = wire_token(*word);
        const struct path *path;
        struct slot_token *t;
        uint64_t hash;

        if (wire_stack_n_new(*word) == WIRE_KNOWN) {
                t = slot_find_token(s, token);
                if (unlikely(!t))
                        drain_break(&p->drain, s, "it names a stack that it never told");
                return t;
        }
        if (unlikely(!callpath_take(&s->path, &p->intern.key, word, &hash))) {
                drain_break(&p->drain, s, "a stack keeps more frames than there were");
                return NULL;
        }
        path = paths_find(&space->paths, hash);
        t = token ? decode_give_token(s, token) : &s->untold;
        *t = (struct slot_token){
                .stack = path ? path->stack : callpath_intern(&s->path, &p->intern, space),
                .site = SLOT_NO_SITE,
                .allocator = (uint8_t)wire_stack_allocator(*word),
                .is_complete = wire_stack_end(*word) == WIRE_END_COMPLETE,
                .is_given = true,
        };
        return t;
}

uint32_t decode_site(struct pipeline *p, struct slot *s, struct slot_token *t) {
        if (t->site == SLOT_NO_SITE)
                t->site = sites_find(&p->sites, s->process->figures, t->stack);
        return t->site;
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
        intern_add_module(&p->intern, &s->process->space, &m);
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

/* What is unmapped, or moved away, while somebody looks at pages; and what is mapped there again. */
static void decode_note_released(struct released *r, const struct trace_mapping *m) {
        if (!r || m->size_bytes >= UINT64_MAX / 2 || m->old_size_bytes >= UINT64_MAX / 2)
                return;
        if (m->op == TRACE_MUNMAP)
                released_add(r, m->address, m->address + m->size_bytes);
        if (m->op == TRACE_MREMAP)
                released_add(r, m->old_address, m->old_address + m->old_size_bytes);
        if (m->op == TRACE_MREMAP || m->op == TRACE_MMAP)
                released_cut(r, m->address, m->address + m->size_bytes);
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
        case WIRE_MPROTECT:
                m.op = TRACE_MPROTECT;
                m.prot = (uint32_t)words[3];
                break;
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
        decode_note_released(s->process->released, &m);
        if (m.op != TRACE_MUNMAP && m.op != TRACE_MPROTECT && p->config.calls.on_mapping &&
            m.size_bytes < UINT64_MAX / 2)
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

/* ---- allocations that are made to fail ---------------------------------------------------------------- */

static void decode_fail(struct pipeline *p, struct slot *s, const uint64_t *words, uint32_t stack,
                        uint64_t time_ns) {
        struct trace_fail fail = {.pid = s->process->pid,
                                  .number = words[1],
                                  .size_bytes = words[2],
                                  .stack = stack};
        char note[TRACE_FAIL_CAP];

        time_ns = decode_now_ns(p, time_ns);
        if (p->n_fails++ >= MAX_FAILS)
                return; /* their count is that of failed allocations */
        trace_fail_write(&fail, note);
        trace_put_note(p->config.writer, time_ns, note);
}

/* ---- the rest --------------------------------------------------------------------------------------- */

static void decode_lost(struct pipeline *p, struct slot *s, uint64_t time_ns, uint64_t n) {
        struct pair_event e = {.time_ns = time_ns,
                               .process = s->process,
                               .thread = s->thread,
                               .slot_no = s->no};

        s->has_realloc = false;
        vec_clear(&s->tokens);
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
        decode_lost(p, s, p->pair.book.now_ns, n);
        if (s->is_dead)
                s->n_lost_told = told;
}

/* A kind that is no event of a block. */
static void decode_rare(struct pipeline *p, struct slot *s, const uint64_t *words, uint32_t stack,
                        uint64_t time_ns) {
        uint64_t n;

        switch (words[0] & 0xff) {
        case WIRE_MODULE: decode_module(p, s, words); break;
        case WIRE_THREAD_NAME: decode_thread_name(p, s, words); break;
        case WIRE_FREE_RANGE: bulk_free_range(p, s, words, time_ns); break;
        case WIRE_HEAP: bulk_heap(p, s, words, time_ns); break;
        case WIRE_MARK: decode_mark(p, s, words, time_ns); break;
        case WIRE_UNSEEN: decode_unseen(p, s, words); break;
        case WIRE_FAIL: decode_fail(p, s, words, stack, time_ns); break;
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
        case WIRE_MPROTECT:
        case WIRE_BRK: decode_mapping(p, s, words, stack, time_ns); break;
        default: break;
        }
}

void decode_count_share(struct process *process, unsigned allocator, uint64_t size_bytes,
                        uint64_t n_blocks) {
        if (!process->shares)
                process->shares = calloc(WIRE_N_ALLOCATORS, sizeof(process->shares[0]));
        if (!process->shares)
                return;
        process->shares[allocator].n_allocs += n_blocks;
        process->shares[allocator].alloc_bytes += size_bytes * n_blocks;
}

/* A sampled allocation or its release, as the kinds it is one of. False: values no runtime gives. */
static bool decode_sample(struct pipeline *p, struct slot *s, const uint64_t *words,
                          const struct slot_token *from, struct pair_event *e) {
        e->address = words[1];
        if (!p->pair.is_sampled || e->address == 0)
                return false;
        if ((words[0] & 0xff) == WIRE_SAMPLE_FREE) {
                e->kind = WIRE_FREE;
                e->size_bytes = WIRE_NO_SIZE;
                e->n_thread_allocs = (uint32_t)words[2];
                return true;
        }
        e->kind = WIRE_ALLOC;
        e->size_bytes = words[2];
        e->mean_bytes = words[3];
        e->n_thread_allocs = (uint32_t)words[4];
        if (e->size_bytes > BLOCK_MAX_BYTES)
                return false;
        if (from->allocator != 0)
                decode_count_share(s->process, from->allocator, e->size_bytes,
                                   unit_nearest(weight_mean(e->size_bytes, e->mean_bytes)));
        return true;
}

static bool decode_realloc_end(struct slot *s, const uint64_t *words, struct pair_event *e) {
        e->size_bytes = words[2];
        e->result = (uint8_t)words[3];
        e->n_thread_allocs = (uint32_t)words[2]; /* sampled, released */
        e->old = s->has_realloc ? PAIR_OLD_BLOCK : PAIR_OLD_NONE;
        e->old_address = s->realloc_address;
        s->has_realloc = false;
        if (words[3] > WIRE_REALLOC_RELEASED)
                return false;
        if (e->result == WIRE_REALLOC_RELEASED)
                e->address = e->old_address;
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

/* from: of its stack; NULL: it has none. False: values no allocator gives. */
static bool decode_block_event(struct slot *s, const uint64_t *words, const struct slot_token *from,
                               struct pair_event *e) {
        e->address = words[1];
        switch (e->kind) {
        case WIRE_ALLOC:
                e->size_bytes = words[2];
                decode_share(s->process, from->allocator, e->size_bytes);
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
                        decode_share(s->process, from->allocator, e->size_bytes);
                break;
        case WIRE_FAILED: e->size_bytes = words[1]; return true;
        default: e->size_bytes = WIRE_NO_SIZE; break;
        }
        /* 0 is no block */
        return e->address != 0 && (e->kind != WIRE_ALLOC || e->size_bytes <= BLOCK_MAX_BYTES);
}

static bool decode_is_block_event(unsigned kind) {
        return (kind >= WIRE_ALLOC && kind <= WIRE_FAILED) || kind == WIRE_SAMPLE ||
               kind == WIRE_SAMPLE_FREE || kind == WIRE_ALLOC_KNOWN || kind == WIRE_POOL_ALLOC;
}

/* False: the slot is broken. */
static bool decode_event(struct pipeline *p, struct slot *s, const uint64_t *words,
                         struct slot_token *from, uint64_t time_ns) {
        struct pair_event e = {.time_ns = time_ns,
                               .process = s->process,
                               .thread = s->thread,
                               .slot_no = s->no,
                               .kind = words[0] & 0xff,
                               .stack = from ? from->stack : 0,
                               .is_complete = from && from->is_complete};
        uint64_t known[3]; /* as an ALLOC has it */

        if (e.kind == WIRE_ALLOC_KNOWN) {
                known[1] = words[1];
                known[2] = words[2] & WIRE_SIZE_MASK;
                words = known;
        }
        if (e.kind == WIRE_ALLOC_KNOWN || e.kind == WIRE_POOL_ALLOC)
                e.kind = WIRE_ALLOC;
        if (unlikely(e.kind >= WIRE_SAMPLE ? !decode_sample(p, s, words, from, &e)
                                           : !decode_block_event(s, words, from, &e))) {
                drain_break(&p->drain, s, "a record has impossible values");
                return false;
        }
        if (event_allocates(&e))
                e.site = decode_site(p, s, from);
        if (unlikely(s->has_heap) && event_allocates(&e))
                e.heap = decode_take_heap(s, e.address);
        pair_apply(&p->pair, &e);
        return true;
}

static bool decode_record(struct pipeline *p, struct slot *s) {
        const uint64_t *words = s->words + s->head;
        uint32_t n_words = ring_record_words(words, slot_n_words_in_chunk(s));
        struct slot_token *from = NULL;
        unsigned kind = words[0] & 0xff, at = wire_stack_at(kind);
        uint64_t time_ns = pipeline_time_ns(p, s->head_time);

        if (unlikely(n_words == 0)) {
                drain_break(&p->drain, s, "a record is malformed");
                return false;
        }
        if (unlikely(!s->process) && !decode_attach(p, s, time_ns))
                return false;
        if (at != 0) {
                from = decode_stack(p, s, words + at);
                if (unlikely(!from))
                        return false;
        } else if (kind == WIRE_ALLOC_KNOWN) {
                from = slot_find_token(s, wire_token(words[2]));
                if (unlikely(!from)) {
                        drain_break(&p->drain, s, "it names a stack that it never told");
                        return false;
                }
        }
        s->last_time = s->head_time;
        p->n_records++;
        pipeline_check_slice(p);
        if (kind == WIRE_POOL_ALLOC)
                bulk_pool_alloc(p, s->process, words[1]);
        if (kind == WIRE_HEAP && words[2] == WIRE_HEAP_NEXT) {
                bulk_expect_heap(p, s->process);
                s->has_heap = true;
                s->heap_id = words[1];
                s->heap_address = words[3];
                s->n_heap_tries = 0;
        } else if (likely(decode_is_block_event(kind))) {
                if (!decode_event(p, s, words, from, time_ns))
                        return false;
        } else {
                decode_rare(p, s, words, from ? from->stack : 0, time_ns);
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

bool decode_run(struct pipeline *p, struct slot *s, uint64_t end_time) {
        if (unlikely(s->head_time > p->leave_time) && !decode_settle(p, s))
                return false; /* it was settled before that time was known */
        for (;;) {
                if (likely(s->process && !s->has_heap && pair_is_plain(&p->pair)))
                        quick_run(p, s, end_time);
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
