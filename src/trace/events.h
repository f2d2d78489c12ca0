/* SPDX-License-Identifier: MIT */
/* Columns of events, both ways (docs/trace-format.md, "EVTS").
 *
 * The encoder takes events by the buffer and holds one slice. The decoder gives a whole slice as an
 * array; what it needs to know of the rest of the trace is how many stacks and threads are
 * defined. */
#pragma once

#include "base/bytes.h"
#include "trace/chunk.h"
#include "trace/model.h"
#include "trace/stage.h"

struct trace_encoder;

struct trace_encoder *trace_encoder_new(uint32_t flags);           /* enum trace_flags */
struct trace_encoder *trace_encoder_free(struct trace_encoder *e); /* NULL ok */
DEFINE_CLEANUP(struct trace_encoder, trace_encoder_free)

/* Starts a slice: its first allocation will be first_seq, no event is before begin_us. */
void trace_encoder_begin(struct trace_encoder *e, uint64_t first_seq, uint64_t begin_us);

/* Takes all events of a buffer. With flags, each of them has its `more`. */
void trace_encode(struct trace_encoder *e, const struct trace_stage_buf *b);

/* Head and body of the EVTS chunk of what was put since begin. */
void trace_encoder_end(struct trace_encoder *e, uint32_t slice, uint8_t *ret_head,
                       bytes_buf *ret_body, struct trace_cuts *ret_cuts);

/* Scratch of the decoder, kept from slice to slice. */
struct trace_decoder;
struct trace_decoder *trace_decoder_new(void);
struct trace_decoder *trace_decoder_free(struct trace_decoder *d); /* NULL ok */

/* Decodes a checked body; *ret is valid until the next call. only_allocs: ALLOC and REALLOC, which is quicker; what is not valid is found
 * all the same. 0 or the trace error. */
int trace_decode_events(struct trace_decoder *d, const struct trace_chunk *c,
                        const struct trace_body *b, size_t n_threads, size_t n_stacks,
                        bool only_allocs, const struct trace_event **ret, size_t *ret_n);
