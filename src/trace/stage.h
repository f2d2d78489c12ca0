/* SPDX-License-Identifier: MIT */
/* Events on their way into the columns: a few stores each, from wherever the recorder has them in registers. What is
 * gathered is encoded in one loop when the buffer is full, by this thread or another, which then compresses the slice, too (pack_worker.h).
 *
 * An event is one entry; what few events have stands beside it in `more`, in the same order. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

struct trace_writer;

struct trace_staged {
        uint64_t time_op;    /* time_ns << 2 | enum trace_op */
        uint64_t size_bytes; /* of the block allocated or released; of OTHER the value */
        uint64_t seq;        /* of the block released; not set by ALLOC */
        uint32_t thread, stack;
};

/* REALLOC: the block released. OTHER: which. Any event of a recording with addresses, stacks of frees or weights. */
struct trace_staged_more {
        uint64_t address;
        uint64_t old_size_bytes;
        uint32_t old_stack;
        uint32_t free_stack;
        uint32_t n_blocks, old_n_blocks;
        uint32_t other;
};

enum {
        TRACE_STAGE_EVENTS = 512, /* 16 KiB: half of a first-level cache */
        TRACE_STAGE_MORE = 64,
};

/* A full one is handed on whole. */
struct trace_stage_buf {
        uint32_t n, n_more;
        struct trace_staged items[TRACE_STAGE_EVENTS];
        struct trace_staged_more more[TRACE_STAGE_MORE];
};

/* The first member of every writer: what the functions below need of it. */
struct trace_stage {
        struct trace_staged *at, *end; /* where the next goes; at end: trace_stage_* finds room */
        uint64_t next_seq;
};

/* The same as trace_put_*, wherever `at` is. */
uint64_t trace_stage_alloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint32_t stack, uint64_t size_bytes, uint64_t address);
void trace_stage_free(struct trace_writer *w, uint32_t thread, uint64_t time_ns, uint64_t seq,
                      uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack);

static inline uint64_t trace_put_alloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                                       uint32_t stack, uint64_t size_bytes, uint64_t address) {
        struct trace_stage *s = (struct trace_stage *)w;
        struct trace_staged *e = s->at;

        if (unlikely(e == s->end))
                return trace_stage_alloc(w, thread, time_ns, stack, size_bytes, address);
        e->time_op = time_ns << 2;
        e->size_bytes = size_bytes;
        e->thread = thread;
        e->stack = stack;
        s->at = e + 1;
        return s->next_seq++;
}

static inline void trace_put_free(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                                  uint64_t seq, uint32_t block_stack, uint64_t block_size_bytes,
                                  uint32_t free_stack) {
        struct trace_stage *s = (struct trace_stage *)w;
        struct trace_staged *e = s->at;

        if (unlikely(e == s->end)) {
                trace_stage_free(w, thread, time_ns, seq, block_stack, block_size_bytes,
                                 free_stack);
                return;
        }
        e->time_op = time_ns << 2 | 1;
        e->size_bytes = block_size_bytes;
        e->seq = seq;
        e->thread = thread;
        e->stack = block_stack;
        s->at = e + 1;
}
