/* SPDX-License-Identifier: MIT */
/* Pairs releases with allocations by address, in time order, and repairs small inversions.
 *
 * The events of one address alternate: allocated, released, allocated, … Where one does not fit (a release of
 * what is not live, an allocation of what is) it is held back for skew_ns, and with it every later
 * event of that address; whichever of them fits next goes first, each thread's in its own order. What does not
 * fit in time is taken as it is: an unknown release, or a release nobody saw (implicit). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "ledger/book.h"
#include "pipeline/pipeline_process.h"
#include "pipeline/weights.h"
#include "trace/writer.h"
#include "wire/record.h"

enum pair_old {
        PAIR_OLD_NONE = 0,     /* REALLOC_END without its begin: an allocation like others */
        PAIR_OLD_BLOCK = 1,    /* old_address was given to realloc */
        PAIR_OLD_RELEASED = 2, /* and was handed out to another thread meanwhile */
};

/* A record of the ring, decoded: what the kinds of wire/record.h up to WIRE_FAILED carry. */
struct pair_event {
        uint64_t time_ns;
        uint64_t address, size_bytes; /* size: WIRE_NO_SIZE when a release gave none */
        union {
                uint64_t old_address; /* REALLOC_END */
                uint64_t mean_bytes;  /* sampled ALLOC: distance of samples when it was made */
        };
        struct process *process;
        uint32_t thread; /* of the trace */
        uint32_t slot_no;
        uint32_t site;  /* ALLOC, REALLOC_END: of the new block */
        uint32_t stack; /* of the record; 0 when it has none */
        uint32_t heap;  /* ALLOC, REALLOC_END: the new block's, of process->heaps; 0: none */
        uint8_t kind;   /* enum wire_kind */
        uint8_t result; /* enum wire_realloc */
        uint8_t old;    /* enum pair_old */
        bool is_complete;
        uint32_t n_thread_allocs; /* sampled: allocations of the thread by then, modulo 2^32 */
};

/* Does it hand out a block? */
static inline bool event_allocates(const struct pair_event *e) {
        return e->kind == WIRE_ALLOC ||
               (e->kind == WIRE_REALLOC_END && e->result == WIRE_REALLOC_OK);
}

static inline bool event_is_release(const struct pair_event *e) {
        return e->kind == WIRE_FREE || e->kind == WIRE_FREE_SIZED || e->kind == WIRE_FREE_STACK;
}

/* Of the same address. */
static inline bool event_is_about(const struct pair_event *e, const struct process *process,
                                  uint64_t address) {
        return e->process == process && (e->address == address || (e->kind == WIRE_REALLOC_END &&
                                                                   e->old_address == address));
}

static inline bool events_collide(const struct pair_event *a, const struct pair_event *b) {
        return event_is_about(a, b->process, b->address) ||
               (b->kind == WIRE_REALLOC_END && event_is_about(a, b->process, b->old_address));
}

struct pair_held {
        struct pair_event event;
        uint64_t until_ns;
        bool is_new; /* arrived just now: its turn is no inversion */
};

/* A realloc between its begin and its end. */
struct pair_moving {
        const struct process *process;
        uint64_t address;
        uint32_t thread, slot_no;
        bool is_released;
};

/* A heap that a thread is about to release whole. */
struct pair_bulk {
        const struct process *process;
        uint32_t thread, slot_no, heap; /* heap: 0 if nothing is in it */
};

struct pair {
        struct book book;
        uint64_t skew_ns;
        bool addresses, prior;
        bool is_sampled;
        struct weights weights;     /* sampled: what blocks stand for */
        VEC(struct pair_held) held; /* in order of arrival */
        VEC(struct pair_moving) moving;
        VEC(struct pair_bulk) bulks;
        uint64_t n_inversions;
};

void pair_init(struct pair *p, struct trace_writer *w, struct sites *s);
void pair_done(struct pair *p);

/* In order. */
void pair_apply(struct pair *p, const struct pair_event *e);

/* ---- the quick way ---- */

/* Nothing waits for another event, and every block stands for itself. It stays so until pair_apply or another function below
 * is called. */
static inline bool pair_is_plain(const struct pair *p) {
        return p->held.n == 0 && p->moving.n == 0 && !p->is_sampled;
}

/* pair_apply of an ALLOC, if nothing is special about it; false: nothing has happened. Only where pair_is_plain. */
static inline __attribute__((always_inline)) bool pair_try_plain_alloc(
        struct pair *p, struct process *process, uint32_t thread, uint64_t time_ns,
        uint64_t address, uint64_t size_bytes, uint32_t stack, uint32_t site, bool is_complete) {
        struct block *b;
        uint64_t seq;

        /* pages of large blocks are looked at; those of pools are not the block's */
        if (unlikely(size_bytes >= TRACE_LARGE_BLOCK_BYTES || address - 1 >= WIRE_POOL - 1))
                return false;
        b = live_add(&process->live, address);
        if (unlikely(!b))
                return false;
        book_set_now(&p->book, time_ns);
        seq = trace_put_alloc(p->book.writer, thread, p->book.now_ns, stack, size_bytes,
                              p->addresses ? address & WIRE_ADDRESS_MASK : 0);
        book_allocate(&p->book, process->figures, b,
                      &(struct book_birth){.seq = seq,
                                           .size_bytes = size_bytes,
                                           .site = site,
                                           .thread = thread,
                                           .n_blocks = 1,
                                           .is_complete = is_complete});
        return true;
}

/* The same of a FREE, or of a FREE_SIZED that gave this size. */
static inline __attribute__((always_inline)) bool pair_try_plain_free(
        struct pair *p, struct process *process, uint32_t thread, uint64_t time_ns,
        uint64_t address, uint64_t size_bytes) {
        bool is_young;
        struct block *b = live_at(&process->live, address, &is_young);

        /* 0 is that of places without a block; large ones may be of interest to whoever looks at pages */
        if (unlikely(!b || address == 0 || block_size_bytes(b) >= TRACE_LARGE_BLOCK_BYTES ||
                     (size_bytes != WIRE_NO_SIZE && size_bytes != block_size_bytes(b))))
                return false;
        book_set_now(&p->book, time_ns);
        trace_put_free(p->book.writer, thread, p->book.now_ns, block_seq(b),
                       book_stack(&p->book, b), block_size_bytes(b), 0);
        book_release(&p->book, process->figures, b, thread, 1);
        live_remove(&process->live, b, is_young);
        return true;
}

/* A thread releases every block in a range: begun once, then told of each address that may be live. */
void pair_begin_range(struct pair *p, uint32_t thread, uint64_t time_ns);
void pair_free_in_range(struct pair *p, struct process *process, uint32_t thread, uint64_t address);

/* The same for a heap. From begin to end others may be given addresses of its blocks, which proves their release. */
void pair_begin_bulk(struct pair *p, const struct process *process, uint32_t thread,
                     uint32_t slot_no, uint32_t heap);
/* True: the slot had begun; ret_heap, which may be NULL: the heap it told of. */
bool pair_end_bulk(struct pair *p, uint32_t slot_no, uint32_t *ret_heap);
void pair_free_in_heap(struct pair *p, struct process *process, uint32_t thread, uint64_t address,
                       uint64_t seq);

/* Do events wait that know the heap's number? */
bool pair_awaits_heap(const struct pair *p, const struct process *process, uint32_t heap);

/* No event earlier than time_ns can come any more. */
void pair_expire(struct pair *p, uint64_t time_ns);
void pair_expire_all(struct pair *p);

/* Nothing more comes from this process / this slot. */
void pair_end_process(struct pair *p, const struct process *process);
void pair_end_slot(struct pair *p, uint32_t slot_no);

/* n records of a thread were lost. */
void pair_lost(struct pair *p, const struct pair_event *e, uint64_t n);
