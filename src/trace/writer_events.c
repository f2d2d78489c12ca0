/* SPDX-License-Identifier: MIT */
/* The way of events into a writer: staged (trace/stage.h), and encoded by the buffer. */
#include <stdio.h>

#include "trace/writer_state.h"

static struct trace_stage_buf *stage_buf_new(void) {
        struct trace_stage_buf *b = malloc(sizeof(*b));

        if (!b) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        b->n = b->n_more = 0;
        return b;
}

/* Every event comes by trace_stage_* where it has more to say than the inline functions write down. */
static void stage_set_end(struct trace_writer *w) {
        w->stage.end = w->stages_more ? w->stage.at : w->buf->items + TRACE_STAGE_EVENTS;
}

static void stage_begin(struct trace_writer *w) {
        w->buf->n = w->buf->n_more = 0;
        w->stage.at = w->buf->items;
        stage_set_end(w);
}

void writer_init_events(struct trace_writer *w, uint32_t flags) {
        w->encoder = trace_encoder_new(flags);
        w->stages_more = flags & (TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS | TRACE_IS_SAMPLED);
        w->n_blocks = w->old_n_blocks = 1;
        w->buf = stage_buf_new();
        stage_begin(w);
}

void writer_done_events(struct trace_writer *w) {
        trace_encoder_free(w->encoder);
        free(w->buf);
}

static uint32_t stage_n_events(const struct trace_writer *w) {
        return (uint32_t)(w->stage.at - w->buf->items);
}

void writer_flush_stage(struct trace_writer *w) {
        struct trace_stage_buf *b = w->buf;

        b->n = stage_n_events(w);
        if (!b->n)
                return;
        w->n_encoded += b->n;
        w->last_us = MAX(w->last_us, (b->items[b->n - 1].time_op >> 2) / 1000);
        if (w->worker)
                w->buf = pack_worker_put(w->worker, b);
        else
                trace_encode(w->encoder, b);
        stage_begin(w);
        writer_look_pending(w);
}

void writer_begin_events(struct trace_writer *w) {
        w->n_events += w->n_encoded;
        w->n_encoded = 0;
        w->last_us = w->begin_us;
        w->stage.next_seq = w->first_seq;
}

uint32_t writer_n_events(const struct trace_writer *w) {
        return w->n_encoded + stage_n_events(w);
}

uint64_t writer_last_us(const struct trace_writer *w) {
        uint32_t n = stage_n_events(w);

        return n ? MAX(w->last_us, (w->buf->items[n - 1].time_op >> 2) / 1000) : w->last_us;
}

uint32_t writer_n_allocs(const struct trace_writer *w) {
        return (uint32_t)(w->stage.next_seq - w->first_seq);
}

size_t trace_slice_n_events(const struct trace_writer *w) {
        return writer_n_events(w);
}

uint64_t trace_writer_n_events(const struct trace_writer *w) {
        return w->n_events + writer_n_events(w);
}

/* ---- events that are not put inline ------------------------------------------------------------- */

void trace_put_weights(struct trace_writer *w, uint32_t n_blocks, uint32_t old_n_blocks) {
        w->n_blocks = n_blocks;
        w->old_n_blocks = old_n_blocks;
}

/* An entry, with room for it and its `more`; stage_put ends it. */
static struct trace_staged *stage_take(struct trace_writer *w, enum trace_op op, uint32_t thread,
                                       uint64_t time_ns) {
        struct trace_staged *e;

        if (stage_n_events(w) == TRACE_STAGE_EVENTS || w->buf->n_more == TRACE_STAGE_MORE)
                writer_flush_stage(w);
        e = w->stage.at++;
        stage_set_end(w);
        e->time_op = time_ns << 2 | op;
        e->thread = thread;
        return e;
}

static struct trace_staged_more *stage_take_more(struct trace_writer *w) {
        struct trace_staged_more *m = &w->buf->more[w->buf->n_more++];

        *m = (struct trace_staged_more){.n_blocks = w->n_blocks, .old_n_blocks = w->old_n_blocks};
        return m;
}

uint64_t trace_stage_alloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint32_t stack, uint64_t size_bytes, uint64_t address) {
        struct trace_staged *e = stage_take(w, TRACE_ALLOC, thread, time_ns);

        e->size_bytes = size_bytes;
        e->seq = 0;
        e->stack = stack;
        if (w->stages_more)
                stage_take_more(w)->address = address;
        return w->stage.next_seq++;
}

void trace_stage_free(struct trace_writer *w, uint32_t thread, uint64_t time_ns, uint64_t seq,
                      uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack) {
        struct trace_staged *e = stage_take(w, TRACE_FREE, thread, time_ns);

        e->size_bytes = block_size_bytes;
        e->seq = seq;
        e->stack = block_stack;
        if (w->stages_more)
                stage_take_more(w)->free_stack = free_stack;
}

uint64_t trace_put_realloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                           uint32_t stack, uint64_t size_bytes, uint64_t address) {
        struct trace_staged *e = stage_take(w, TRACE_REALLOC, thread, time_ns);
        struct trace_staged_more *m = stage_take_more(w);

        e->size_bytes = size_bytes;
        e->seq = old_seq;
        e->stack = stack;
        m->address = address;
        m->old_stack = old_stack;
        m->old_size_bytes = old_size_bytes;
        return w->stage.next_seq++;
}

void trace_put_other(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                     enum trace_other other, uint64_t value, uint64_t seq, uint32_t block_stack) {
        struct trace_staged *e = stage_take(w, TRACE_OTHER, thread, time_ns);

        e->size_bytes = value;
        e->seq = seq;
        e->stack = block_stack;
        stage_take_more(w)->other = other;
}
