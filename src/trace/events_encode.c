/* SPDX-License-Identifier: MIT */
/* Every event costs the recorder this file, so the common path of each column is a table lookup
 * and one byte, and room in the columns is looked for once in ROOM_EVENTS events. */
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
 * which trace_encoder_prefetch fetches. */
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
        uint32_t n_events, n_allocs, run_length;
        uint64_t first_seq, base_us, last_us, last_address, last_old_seq;
        uint32_t thread, thread_entry; /* of the open run */
        uint32_t old_context, last_stack_id;
        uint32_t n_columns;
        uint32_t n_blocks, old_n_blocks;    /* that those of the next event stand for */
        uint32_t n_room;                    /* so many more events fit into every column as it is */
        VEC(struct stack_slot) stack_slots; /* by stack id + 1; [0] is the context "none" */
        VEC(struct slot) thread_slots;      /* by thread + 1 */
        VEC(struct stack_entry) stacks;
        VEC(uint32_t) contexts; /* by thread entry: stack slot of its last allocation */
        bytes_buf columns[TRACE_N_COLUMNS];
};

enum {
        ROOM_EVENTS = 256,
        ROOM_BYTES = 3 * 16, /* the most an event puts into one column: three stack ids */
};

struct trace_encoder *trace_encoder_new(uint32_t flags) {
        struct trace_encoder *e = calloc(1, sizeof(*e));

        if (!e) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        e->flags = flags & (TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS | TRACE_IS_SAMPLED);
        e->n_columns = flags & TRACE_IS_SAMPLED ? TRACE_N_COLUMNS : TRACE_N_EXACT_COLUMNS;
        e->n_blocks = e->old_n_blocks = 1;
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
        e->n_events = e->n_allocs = e->run_length = 0;
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

static __attribute__((noinline)) void encode_make_room(struct trace_encoder *e) {
        for (size_t i = 0; i < TRACE_N_COLUMNS; i++)
                vec_reserve(&e->columns[i], (size_t)ROOM_EVENTS * ROOM_BYTES);
        e->n_room = ROOM_EVENTS - 1;
}

static inline void encode_byte(struct trace_encoder *e, enum trace_column column, uint8_t value) {
        bytes_buf *b = &e->columns[column];

        b->items[b->n++] = value;
}

static inline void encode_put(struct trace_encoder *e, enum trace_column column, uint64_t value) {
        bytes_buf *b = &e->columns[column];
        uint8_t *p = b->items + b->n;

        for (; value >= 0x80; value >>= 7)
                *p++ = (uint8_t)(value | 0x80);
        *p++ = (uint8_t)value;
        b->n = (size_t)(p - b->items);
}

/* ---- what every event has: op, thread, time -------------------------------------------------- */

static void encode_end_run(struct trace_encoder *e) {
        if (!e->run_length)
                return;
        encode_put(e, TRACE_COL_RUN_THREADS, e->thread_entry);
        encode_put(e, TRACE_COL_RUN_LENGTHS, e->run_length - 1);
        e->run_length = 0;
}

static __attribute__((noinline)) void encode_switch_thread(struct trace_encoder *e,
                                                           uint32_t thread) {
        size_t id = (size_t)(uint32_t)(thread + 1); /* TRACE_NO_THREAD becomes 0 */
        struct slot *s;

        encode_end_run(e);
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
}

static inline void encode_event(struct trace_encoder *e, enum trace_op op, uint32_t thread,
                                uint64_t time_ns) {
        uint64_t time_us = MAX(time_ns / 1000, e->last_us);

        if (unlikely(e->n_room-- == 0))
                encode_make_room(e);
        if (unlikely(!e->run_length || thread != e->thread))
                encode_switch_thread(e, thread);
        e->run_length++;
        e->n_events++;
        encode_byte(e, TRACE_COL_OPS, (uint8_t)op); /* packed in the end */
        encode_put(e, TRACE_COL_TIMES, time_us - e->last_us);
        e->last_us = time_us;
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
        if (is_new)
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

static inline void encode_new_block(struct trace_encoder *e, uint32_t stack, uint64_t size_bytes,
                                    uint64_t address) {
        uint32_t *context = &e->contexts.items[e->thread_entry], *next;
        struct stack_slot *s;
        bool is_new;

        s = encode_stack_slot(e, stack, &is_new);
        next = &e->stack_slots.items[*context].next;
        encode_put(e, TRACE_COL_STACKS, encode_stack_code(s->entry, *next, is_new));
        *next = s->entry;
        *context = stack + 1;
        encode_put(e, TRACE_COL_SIZES, encode_size_code(e, s, size_bytes));
        if (unlikely(e->flags & TRACE_HAS_ADDRESSES)) {
                encode_put(e, TRACE_COL_ADDRESSES,
                           bytes_zigzag((int64_t)(address - e->last_address)));
                e->last_address = address;
        }
        if (unlikely(e->flags & TRACE_IS_SAMPLED))
                encode_put(e, TRACE_COL_WEIGHTS, e->n_blocks);
        e->n_allocs++;
}

/* ---- releases -------------------------------------------------------------------------------- */

static void encode_old_block(struct trace_encoder *e, uint64_t seq, uint32_t stack,
                             uint64_t size_bytes) {
        struct stack_slot *s;
        uint32_t *next;
        bool is_new;

        encode_put(e, TRACE_COL_RELEASES, 0);
        encode_put(e, TRACE_COL_OLD_SEQS, bytes_zigzag((int64_t)(seq - e->last_old_seq)));
        e->last_old_seq = seq;
        s = encode_stack_slot(e, stack, &is_new);
        next = &e->stacks.items[e->old_context].old_next;
        encode_put(e, TRACE_COL_OLD_STACKS, encode_stack_code(s->entry, *next, is_new));
        *next = e->old_context = s->entry;
        encode_put(e, TRACE_COL_OLD_SIZES, encode_size_code(e, s, size_bytes));
        if (unlikely(e->flags & TRACE_IS_SAMPLED))
                encode_put(e, TRACE_COL_OLD_WEIGHTS, e->old_n_blocks);
}

static inline void encode_release(struct trace_encoder *e, uint64_t seq, uint32_t stack,
                                  uint64_t size_bytes) {
        assert(seq < e->first_seq + e->n_allocs);
        if (seq >= e->first_seq)
                encode_put(e, TRACE_COL_RELEASES, e->first_seq + e->n_allocs - seq);
        else
                encode_old_block(e, seq, stack, size_bytes);
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

/* ---- events ---------------------------------------------------------------------------------- */

void trace_encode_alloc(struct trace_encoder *e, uint32_t thread, uint64_t time_ns, uint32_t stack,
                        uint64_t size_bytes, uint64_t address) {
        encode_event(e, TRACE_ALLOC, thread, time_ns);
        encode_new_block(e, stack, size_bytes, address);
}

void trace_encode_free(struct trace_encoder *e, uint32_t thread, uint64_t time_ns, uint64_t seq,
                       uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack) {
        encode_event(e, TRACE_FREE, thread, time_ns);
        encode_release(e, seq, block_stack, block_size_bytes);
        if (unlikely(e->flags & TRACE_HAS_FREE_STACKS))
                encode_free_stack(e, block_stack, free_stack);
}

void trace_encode_realloc(struct trace_encoder *e, uint32_t thread, uint64_t time_ns,
                          uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                          uint32_t stack, uint64_t size_bytes, uint64_t address) {
        encode_event(e, TRACE_REALLOC, thread, time_ns);
        encode_release(e, old_seq, old_stack, old_size_bytes);
        encode_new_block(e, stack, size_bytes, address);
}

void trace_encode_other(struct trace_encoder *e, uint32_t thread, uint64_t time_ns,
                        enum trace_other other, uint64_t value, uint64_t seq,
                        uint32_t block_stack) {
        encode_event(e, TRACE_OTHER, thread, time_ns);
        encode_byte(e, TRACE_COL_OTHERS, (uint8_t)other);
        if (other == TRACE_IMPLICIT_FREE)
                encode_release(e, seq, block_stack, value);
        else
                encode_put(e, TRACE_COL_VALUES, value);
}

void trace_encode_weights(struct trace_encoder *e, uint32_t n_blocks, uint32_t old_n_blocks) {
        e->n_blocks = n_blocks;
        e->old_n_blocks = old_n_blocks;
}

void trace_encoder_prefetch(const struct trace_encoder *e, uint32_t stack) {
        __builtin_prefetch(&e->stack_slots.items[MIN((size_t)stack + 1, e->stack_slots.n)], 1);
}

uint32_t trace_encoder_n_events(const struct trace_encoder *e) {
        return e->n_events;
}

uint32_t trace_encoder_n_allocs(const struct trace_encoder *e) {
        return e->n_allocs;
}

uint64_t trace_encoder_last_us(const struct trace_encoder *e) {
        return e->last_us;
}

/* A byte each becomes two bits each. */
static void encode_pack_ops(bytes_buf *ops) {
        size_t n = ops->n;

        ops->n = 0;
        for (size_t i = 0; i < n; i += 4) {
                uint8_t bits = 0;

                for (size_t k = i; k < MIN(i + 4, n); k++)
                        bits |= (uint8_t)(ops->items[k] << ((k - i) * 2));
                ops->items[ops->n++] = bits;
        }
}

void trace_encoder_end(struct trace_encoder *e, uint32_t slice, uint8_t *ret_head,
                       bytes_buf *ret_body) {
        encode_end_run(e);
        encode_pack_ops(&e->columns[TRACE_COL_OPS]);

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
        for (size_t i = 0; i < e->n_columns; i++)
                buf_bytes(ret_body, e->columns[i].items, e->columns[i].n);
}
