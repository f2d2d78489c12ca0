/* SPDX-License-Identifier: MIT */
/* Columns of events, both ways (docs/trace-format.md, "EVTS").
 *
 * The encoder takes events one by one and holds one slice. The decoder gives a whole slice as an
 * array; what it needs to know of the rest of the trace is how many stacks and threads are
 * defined. */
#pragma once

#include "base/bytes.h"
#include "trace/chunk.h"
#include "trace/model.h"

struct trace_encoder;

struct trace_encoder *trace_encoder_new(uint32_t flags);           /* enum trace_flags */
struct trace_encoder *trace_encoder_free(struct trace_encoder *e); /* NULL ok */
DEFINE_CLEANUP(struct trace_encoder, trace_encoder_free)

/* Starts a slice: its first allocation will be first_seq, no event is before begin_us. */
void trace_encoder_begin(struct trace_encoder *e, uint64_t first_seq, uint64_t begin_us);

void trace_encode_alloc(struct trace_encoder *e, uint32_t thread, uint64_t time_ns, uint32_t stack,
                        uint64_t size_bytes, uint64_t address);
void trace_encode_free(struct trace_encoder *e, uint32_t thread, uint64_t time_ns, uint64_t seq,
                       uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack);
void trace_encode_realloc(struct trace_encoder *e, uint32_t thread, uint64_t time_ns,
                          uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                          uint32_t stack, uint64_t size_bytes, uint64_t address);
void trace_encode_other(struct trace_encoder *e, uint32_t thread, uint64_t time_ns,
                        enum trace_other other, uint64_t value, uint64_t seq, uint32_t block_stack);

/* Sampled: what the blocks of the events to come stand for, until it is said anew. */
void trace_encode_weights(struct trace_encoder *e, uint32_t n_blocks, uint32_t old_n_blocks);

/* An event with this stack comes soon. */
void trace_encoder_prefetch(const struct trace_encoder *e, uint32_t stack);

uint32_t trace_encoder_n_events(const struct trace_encoder *e);
uint32_t trace_encoder_n_allocs(const struct trace_encoder *e);
uint64_t trace_encoder_last_us(
        const struct trace_encoder *e); /* time of the newest event, or begin_us */

/* Head and body of the EVTS chunk of what was put since begin. */
void trace_encoder_end(struct trace_encoder *e, uint32_t slice, uint8_t *ret_head,
                       bytes_buf *ret_body);

/* Scratch of the decoder, kept from slice to slice. */
struct trace_decoder;
struct trace_decoder *trace_decoder_new(void);
struct trace_decoder *trace_decoder_free(struct trace_decoder *d); /* NULL ok */

/* Decodes a checked body; *ret is valid until the next call. 0 or the trace error. */
int trace_decode_events(struct trace_decoder *d, const struct trace_chunk *c,
                        const struct trace_body *b, size_t n_threads, size_t n_stacks,
                        const struct trace_event **ret, size_t *ret_n);
