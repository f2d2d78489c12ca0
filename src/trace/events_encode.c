/* SPDX-License-Identifier: MIT */
/* Every event costs the recorder this file. Events come by the buffer: room in the columns is looked for once for all of
 * them, and two loops go over them, whose columns stay in registers: one for what every event has, one for stacks, sizes
 * and releases, where the common path of each is a table lookup and one byte. */
#include <assert.h>
#include <stdio.h>

#include "base/vec.h"
#include "trace/events.h"

/* An entry of the slice's stack dictionary: what an allocation does not need of it. Followers are entry numbers;
 * entry 0 is the context "none". */
struct stack_entry {
        uint32_t old_next;        /* what followed last time; 0 nothing yet */
        uint32_t last_free;       /* entry that released a block of this one last; 0 none */
        uint64_t last_size_bytes; /* when it is SIZE_LARGE in the slot */
};

/* Where a stack stands in the dictionary of the slice `epoch`, and what an allocation needs of it: one cache line,
 * which is fetched ahead. */
struct stack_slot {
        uint32_t epoch, entry;
        uint32_t next; /* as old_next */
        uint32_t last_size_bytes;
};

#define SIZE_LARGE UINT32_MAX

/* Where a thread stands in the dictionary of the slice `epoch`. */
struct slot {
        uint32_t epoch, entry;
};

struct trace_encoder {
        uint32_t flags, epoch;
        uint32_t n_events, n_allocs;
        uint32_t run_begin; /* the open run's first event; NO_RUN: none is open */
        uint64_t first_seq, base_us, last_us, last_address, last_old_seq;
        uint32_t thread, thread_entry; /* of the open run */
        uint32_t old_context, last_stack_id;
        uint32_t n_columns;
        VEC(struct stack_slot) stack_slots; /* by stack id + 1; [0] is the context "none" */
        VEC(struct slot) thread_slots;      /* by thread + 1 */
        VEC(struct stack_entry) stacks;
        VEC(uint32_t) contexts; /* by thread entry: stack slot of its last allocation */
        bytes_buf columns[TRACE_N_COLUMNS];
};

enum { ROOM_BYTES = 3 * 10 }; /* the most an event puts into one column: three stack ids */

#define NO_RUN UINT32_MAX

struct trace_encoder *trace_encoder_new(uint32_t flags) {
        struct trace_encoder *e = calloc(1, sizeof(*e));

        if (!e) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        e->flags = flags & TRACE_EVENT_FLAGS;
        e->n_columns = flags & TRACE_IS_SAMPLED ? TRACE_N_COLUMNS : TRACE_N_EXACT_COLUMNS;
        trace_encoder_begin(e, 0, 0);
        return e;
}

struct trace_encoder *trace_encoder_free(struct trace_encoder *e) {
        if (!e)
                return NULL;
        vec_free(&e->stack_slots);
        vec_free(&e->thread_slots);
        vec_free(&e->stacks);
        vec_free(&e->contexts);
        for (size_t i = 0; i < TRACE_N_COLUMNS; i++)
                vec_free(&e->columns[i]);
        free(e);
        return NULL;
}

void trace_encoder_begin(struct trace_encoder *e, uint64_t first_seq, uint64_t begin_us) {
        e->epoch++;
        e->n_events = e->n_allocs = 0;
        e->run_begin = NO_RUN;
        e->first_seq = e->last_old_seq = first_seq;
        e->base_us = e->last_us = begin_us;
        e->last_address = 0;
        e->old_context = e->last_stack_id = 0;
        vec_clear(&e->stacks);
        vec_add(&e->stacks);
        if (!e->stack_slots.n)
                vec_add(&e->stack_slots);
        e->stack_slots.items[0].next = 0;
        vec_clear(&e->contexts);
        for (size_t i = 0; i < TRACE_N_COLUMNS; i++)
                vec_clear(&e->columns[i]);
}

static void encode_make_room(struct trace_encoder *e, uint32_t n) {
        for (size_t i = 0; i < e->n_columns; i++)
                vec_reserve(&e->columns[i], (size_t)n * ROOM_BYTES);
}

static inline uint8_t *encode_varint(uint8_t *p, uint64_t value) {
        for (; value >= 0x80; value >>= 7)
                *p++ = (uint8_t)(value | 0x80);
        *p++ = (uint8_t)value;
        return p;
}

static inline void encode_put(struct trace_encoder *e, enum trace_column column, uint64_t value) {
        bytes_buf *b = &e->columns[column];

        b->n = (size_t)(encode_varint(b->items + b->n, value) - b->items);
}

static inline uint8_t *encode_end_of(const struct trace_encoder *e, enum trace_column column) {
        return e->columns[column].items + e->columns[column].n;
}

static inline void encode_set_end(struct trace_encoder *e, enum trace_column column,
                                  const uint8_t *end) {
        e->columns[column].n = (size_t)(end - e->columns[column].items);
}

/* ---- what every event has: op and time -------------------------------------------------------- */

static inline unsigned staged_op(const struct trace_staged *x) {
        return (unsigned)x->time_op & 3;
}

/* Four to a byte, the first lowest. */
static void encode_ops(struct trace_encoder *e, const struct trace_staged *x, uint32_t n) {
        uint8_t *p = encode_end_of(e, TRACE_COL_OPS);
        uint32_t i = 0, at = e->n_events % 4;

        for (; i < n && at % 4; i++, at++)
                p[-1] |= (uint8_t)(staged_op(&x[i]) << at * 2);
        for (; i + 4 <= n; i += 4)
                *p++ = (uint8_t)(staged_op(&x[i]) | staged_op(&x[i + 1]) << 2 |
                                 staged_op(&x[i + 2]) << 4 | staged_op(&x[i + 3]) << 6);
        if (i < n)
                *p++ = 0;
        for (at = 0; i < n; i++, at++)
                p[-1] |= (uint8_t)(staged_op(&x[i]) << at * 2);
        encode_set_end(e, TRACE_COL_OPS, p);
}

static void encode_times(struct trace_encoder *e, const struct trace_staged *x, uint32_t n) {
        uint8_t *p = encode_end_of(e, TRACE_COL_TIMES);
        uint64_t last_us = e->last_us;

        for (const struct trace_staged *end = x + n; x < end; x++) {
                uint64_t time_us = MAX((x->time_op >> 2) / 1000, last_us);

                p = encode_varint(p, time_us - last_us);
                last_us = time_us;
        }
        e->last_us = last_us;
        encode_set_end(e, TRACE_COL_TIMES, p);
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void encode_end_run(struct trace_encoder *e, uint32_t event) {
        if (e->run_begin == NO_RUN)
                return;
        encode_put(e, TRACE_COL_RUN_THREADS, e->thread_entry);
        encode_put(e, TRACE_COL_RUN_LENGTHS, event - e->run_begin - 1);
        e->run_begin = NO_RUN;
}

/* Begins a run with this event. */
static __attribute__((noinline)) void encode_switch_thread(struct trace_encoder *e, uint32_t thread,
                                                           uint32_t event) {
        size_t id = (size_t)(uint32_t)(thread + 1); /* TRACE_NO_THREAD becomes 0 */
        struct slot *s;

        encode_end_run(e, event);
        while (e->thread_slots.n <= id)
                vec_push(&e->thread_slots, (struct slot){0, 0});
        s = &e->thread_slots.items[id];
        if (s->epoch != e->epoch) {
                *s = (struct slot){e->epoch, (uint32_t)e->contexts.n};
                vec_push(&e->contexts, 0);
                encode_put(e, TRACE_COL_THREAD_IDS, id);
        }
        e->thread = thread;
        e->thread_entry = s->entry;
        e->run_begin = event;
}

/* ---- stacks and sizes ------------------------------------------------------------------------ */

static __attribute__((noinline)) void encode_add_stack(struct trace_encoder *e, uint32_t stack) {
        size_t slot = (size_t)stack + 1;

        if (e->stack_slots.n <= slot) {
                size_t old_n = e->stack_slots.n;

                vec_reserve(&e->stack_slots, slot + 1 - old_n);
                e->stack_slots.n = slot + 1;
                memset(e->stack_slots.items + old_n, 0,
                       (slot + 1 - old_n) * sizeof(struct stack_slot));
        }
        e->stack_slots.items[slot] =
                (struct stack_slot){.epoch = e->epoch, .entry = (uint32_t)e->stacks.n};
        vec_add(&e->stacks);
        encode_put(e, TRACE_COL_STACK_IDS,
                   bytes_zigzag((int64_t)stack - (int64_t)e->last_stack_id));
        e->last_stack_id = stack;
}

/* The slot of a stack, with an entry of the dictionary when it has none in this slice; valid until the next. */
static inline struct stack_slot *encode_stack_slot(struct trace_encoder *e, uint32_t stack,
                                                   bool *ret_new) {
        size_t slot = (size_t)stack + 1;

        *ret_new = slot >= e->stack_slots.n || e->stack_slots.items[slot].epoch != e->epoch;
        if (unlikely(*ret_new))
                encode_add_stack(e, stack);
        return &e->stack_slots.items[slot];
}

static inline uint64_t encode_stack_code(uint32_t entry, uint32_t expected, bool is_new) {
        if (unlikely(is_new))
                return 1;
        return entry == expected ? 0 : (uint64_t)entry - 1 + 2;
}

static inline uint64_t encode_size_code(struct trace_encoder *e, struct stack_slot *s,
                                        uint64_t size_bytes) {
        uint32_t size = (uint32_t)MIN(size_bytes, (uint64_t)SIZE_LARGE);
        struct stack_entry *entry;

        if (likely(size != SIZE_LARGE)) {
                if (s->last_size_bytes == size)
                        return 0;
                s->last_size_bytes = size;
                return size_bytes + 1;
        }
        entry = &e->stacks.items[s->entry];
        if (s->last_size_bytes == SIZE_LARGE && entry->last_size_bytes == size_bytes)
                return 0;
        s->last_size_bytes = SIZE_LARGE;
        entry->last_size_bytes = size_bytes;
        return size_bytes + 1;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

/* What the loop over the blocks has in registers: the columns that most events write, where the open thread stands, and
 * of the encoder what does not change, which a store into a column would make the compiler load anew. */
struct encode_ends {
        uint8_t *stacks, *sizes, *releases;
        struct stack_slot *slots;
        size_t n_slots;
        uint32_t epoch;
        uint32_t context; /* stack slot of the thread's last allocation */
        uint64_t first_seq, next_seq;
};

#define ENCODE_INLINE static inline __attribute__((always_inline))

ENCODE_INLINE void encode_new_block(struct trace_encoder *e, struct encode_ends *to, uint32_t stack,
                                    uint64_t size_bytes) {
        size_t slot = (size_t)stack + 1;
        bool is_new = slot >= to->n_slots || to->slots[slot].epoch != to->epoch;
        struct stack_slot *s;
        uint32_t *next;

        if (unlikely(is_new)) {
                encode_add_stack(e, stack);
                to->slots = e->stack_slots.items;
                to->n_slots = e->stack_slots.n;
        }
        s = &to->slots[slot];
        next = &to->slots[to->context].next;
        to->stacks = encode_varint(to->stacks, encode_stack_code(s->entry, *next, is_new));
        *next = s->entry;
        to->context = stack + 1;
        to->sizes = encode_varint(to->sizes, encode_size_code(e, s, size_bytes));
        to->next_seq++;
}

static __attribute__((noinline)) void encode_old_block(struct trace_encoder *e, uint64_t seq,
                                                       uint32_t stack, uint64_t size_bytes) {
        struct stack_slot *s;
        uint32_t *next;
        bool is_new;

        encode_put(e, TRACE_COL_OLD_SEQS, bytes_zigzag((int64_t)(seq - e->last_old_seq)));
        e->last_old_seq = seq;
        s = encode_stack_slot(e, stack, &is_new);
        next = &e->stacks.items[e->old_context].old_next;
        encode_put(e, TRACE_COL_OLD_STACKS, encode_stack_code(s->entry, *next, is_new));
        *next = e->old_context = s->entry;
        encode_put(e, TRACE_COL_OLD_SIZES, encode_size_code(e, s, size_bytes));
}

ENCODE_INLINE void encode_release(struct trace_encoder *e, struct encode_ends *to, uint64_t seq,
                                  uint32_t stack, uint64_t size_bytes) {
        assert(seq < to->next_seq);
        if (likely(seq >= to->first_seq)) {
                to->releases = encode_varint(to->releases, to->next_seq - seq);
                return;
        }
        *to->releases++ = 0;
        encode_old_block(e, seq, stack, size_bytes);
        to->slots = e->stack_slots.items;
        to->n_slots = e->stack_slots.n;
}

static void encode_free_stack(struct trace_encoder *e, uint32_t block_stack, uint32_t free_stack) {
        uint32_t block =
                e->stack_slots.items[block_stack + 1].entry; /* known: the release named it */
        bool is_new;
        uint32_t entry = encode_stack_slot(e, free_stack, &is_new)->entry;
        struct stack_entry *s = &e->stacks.items[block];

        encode_put(e, TRACE_COL_FREE_STACKS, s->last_free == entry ? 0 : entry);
        s->last_free = entry;
}

/* What only recordings with such flags have. */
static void encode_flagged(struct trace_encoder *e, const struct trace_staged *x,
                           const struct trace_staged_more *m) {
        unsigned op = staged_op(x);
        bool allocates = op == TRACE_ALLOC || op == TRACE_REALLOC;
        bool releases = op == TRACE_FREE || op == TRACE_REALLOC ||
                        (op == TRACE_OTHER && m->other == TRACE_IMPLICIT_FREE);

        if (e->flags & TRACE_HAS_FREE_STACKS && op == TRACE_FREE)
                encode_free_stack(e, x->stack, m->free_stack);
        if (e->flags & TRACE_HAS_ADDRESSES && allocates) {
                encode_put(e, TRACE_COL_ADDRESSES,
                           bytes_zigzag((int64_t)(m->address - e->last_address)));
                e->last_address = m->address;
        }
        if (e->flags & TRACE_IS_SAMPLED && releases && x->seq < e->first_seq)
                encode_put(e, TRACE_COL_OLD_WEIGHTS, m->old_n_blocks);
        if (e->flags & TRACE_IS_SAMPLED && allocates)
                encode_put(e, TRACE_COL_WEIGHTS, m->n_blocks);
}

static __attribute__((noinline)) void encode_rare(struct trace_encoder *e, struct encode_ends *to,
                                                  const struct trace_staged *x,
                                                  const struct trace_staged_more *m) {
        if (staged_op(x) == TRACE_REALLOC) {
                encode_release(e, to, x->seq, m->old_stack, m->old_size_bytes);
                encode_new_block(e, to, x->stack, x->size_bytes);
                return;
        }
        encode_put(e, TRACE_COL_OTHERS, m->other);
        if (m->other == TRACE_IMPLICIT_FREE)
                encode_release(e, to, x->seq, x->stack, x->size_bytes);
        else
                encode_put(e, TRACE_COL_VALUES, x->size_bytes);
}

static void encode_blocks(struct trace_encoder *e, const struct trace_stage_buf *b) {
        const struct trace_staged *x = b->items, *end = b->items + b->n;
        const struct trace_staged_more *m = b->more;
        uint32_t thread = e->thread, flags = e->flags;
        struct encode_ends far; /* `to` itself stays in registers: nobody has its address */
        struct encode_ends to = {.stacks = encode_end_of(e, TRACE_COL_STACKS),
                                 .sizes = encode_end_of(e, TRACE_COL_SIZES),
                                 .releases = encode_end_of(e, TRACE_COL_RELEASES),
                                 .slots = e->stack_slots.items,
                                 .n_slots = e->stack_slots.n,
                                 .epoch = e->epoch,
                                 .first_seq = e->first_seq,
                                 .next_seq = e->first_seq + e->n_allocs};

        if (e->run_begin == NO_RUN) {
                encode_switch_thread(e, x->thread, e->n_events);
                thread = x->thread;
        }
        to.context = e->contexts.items[e->thread_entry];
        for (; x < end; x++) {
                unsigned op = staged_op(x);

                if (unlikely(x->thread != thread)) {
                        e->contexts.items[e->thread_entry] = to.context;
                        encode_switch_thread(e, x->thread, e->n_events + (uint32_t)(x - b->items));
                        to.context = e->contexts.items[e->thread_entry];
                        thread = x->thread;
                }
                if (op == TRACE_ALLOC) {
                        encode_new_block(e, &to, x->stack, x->size_bytes);
                } else if (likely(op == TRACE_FREE)) {
                        encode_release(e, &to, x->seq, x->stack, x->size_bytes);
                } else {
                        far = to;
                        encode_rare(e, &far, x, m);
                        to = far;
                        m += !flags;
                }
                if (unlikely(flags)) {
                        encode_flagged(e, x, m++);
                        to.slots = e->stack_slots.items;
                        to.n_slots = e->stack_slots.n;
                }
        }
        e->contexts.items[e->thread_entry] = to.context;
        e->n_allocs = (uint32_t)(to.next_seq - e->first_seq);
        encode_set_end(e, TRACE_COL_STACKS, to.stacks);
        encode_set_end(e, TRACE_COL_SIZES, to.sizes);
        encode_set_end(e, TRACE_COL_RELEASES, to.releases);
}

void trace_encode(struct trace_encoder *e, const struct trace_stage_buf *b) {
        if (!b->n)
                return;
        encode_make_room(e, b->n);
        encode_ops(e, b->items, b->n);
        encode_times(e, b->items, b->n);
        encode_blocks(e, b);
        e->n_events += b->n;
}

void trace_encoder_end(struct trace_encoder *e, uint32_t slice, uint8_t *ret_head,
                       bytes_buf *ret_body, struct trace_cuts *ret_cuts) {
        encode_end_run(e, e->n_events);

        buf_put_le32(ret_head, slice);
        buf_put_le32(ret_head + 4, e->n_events);
        buf_put_le64(ret_head + 8, e->first_seq);
        buf_put_le64(ret_head + 16, e->base_us);
        buf_put_le32(ret_head + 24, e->n_allocs);
        buf_put_le32(ret_head + 28, e->flags);

        vec_clear(ret_body);
        buf_varint(ret_body, e->contexts.n);
        buf_varint(ret_body, e->stacks.n - 1);
        for (size_t i = 0; i < e->n_columns; i++)
                buf_varint(ret_body, e->columns[i].n);
        ret_cuts->n = 0;
        for (size_t i = 0; i < e->n_columns; i++) {
                buf_bytes(ret_body, e->columns[i].items, e->columns[i].n);
                ret_cuts->at[ret_cuts->n++] = ret_body->n;
        }
}
