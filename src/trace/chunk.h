/* SPDX-License-Identifier: MIT */
/* Chunks: the envelope around everything in a trace (docs/trace-format.md, "Chunk").
 *
 *  - a writer appends whole chunks to a buffer
 *  - a scan parses header and head from 96 bytes, without the body
 *  - a body is handed out only after its checksum and its sizes were found right
 *
 * Trusts nothing: a parsed chunk keeps the limits that bound memory, whatever the bytes were. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "trace/errors.h"
#include "trace/format.h"

struct trace_chunk {
        uint64_t off; /* of its header in the file */
        uint32_t kind;
        uint8_t version, flags;
        uint16_t head_bytes;
        uint32_t stored_bytes, raw_bytes;
        uint8_t head[TRACE_MAX_HEAD_BYTES];
};

/* Bytes from this chunk's start to the next one's. */
static inline uint64_t trace_chunk_span_bytes(const struct trace_chunk *c) {
        return TRACE_HEADER_BYTES + (((uint64_t)c->stored_bytes + 7) & ~7ull);
}

struct trace_kind_text {
        char s[5];
};
const char *trace_kind_name(struct trace_kind_text *t,
                            uint32_t kind); /* letters, or '?' for other bytes */

/* Where columns of a body end. Each that is long enough becomes a block of the frame with tables of its own: columns
 * have little in common, and no reader notices. */
enum { TRACE_MAX_CUTS = 20 };
struct trace_cuts {
        size_t at[TRACE_MAX_CUTS]; /* rising; that of the last column need not be there */
        uint32_t n;
};

/* Contexts of the compressor and its scratch; one per writer. */
struct trace_packer;
struct trace_packer *trace_packer_new(void);
/* Fewer bytes for more time, from the next chunk on: where there is time. Rows of sites and stacks are packed alike
 * either way. */
void trace_packer_try_hard(struct trace_packer *p, bool hard);
struct trace_packer *trace_packer_free(struct trace_packer *p); /* NULL ok */
DEFINE_CLEANUP(struct trace_packer, trace_packer_free)

/* Appends a whole chunk, gap included; padded so that it stores at least min_stored_bytes. Every
 * kind is marked as required but the few that a reader may do without. Returns the bytes
 * appended. */
size_t trace_chunk_append(struct trace_packer *p, bytes_buf *out, uint32_t kind, const void *head,
                          size_t head_bytes, const void *body, size_t body_bytes,
                          size_t min_stored_bytes);
size_t trace_chunk_append_columns(struct trace_packer *p, bytes_buf *out, uint32_t kind,
                                  const void *head, size_t head_bytes, const bytes_buf *body,
                                  const struct trace_cuts *cuts, size_t min_stored_bytes);

/* Makes the checksums of a whole chunk in memory right again after a change of its version or head. */
void trace_chunk_seal(uint8_t *chunk);
void trace_chunk_set_version(uint8_t *chunk, uint8_t version); /* and seals it */

/* Appends a chunk of a file as it stands there, gap included, once its checksums were found right. 0 or
 * -errno (-EBADMSG: damaged). */
int trace_chunk_load(int fd, const struct trace_chunk *c, bytes_buf *out);

/* The newest version of a kind that is known here. */
uint8_t trace_kind_version(uint32_t kind);

/* Parses a header and its head out of the n bytes that stand at `off` of a file of file_bytes.
 * 0, or which rule it breaks; TRACE_E_CUT_OFF when the chunk would end outside the file. */
int trace_chunk_parse(const uint8_t *p, size_t n, uint64_t off, uint64_t file_bytes,
                      struct trace_chunk *ret);

/* A body as it was before compression. Reused from read to read; 16 zero bytes follow the data,
 * so that a decoder may load a word at its very end. */
struct trace_body {
        bytes_buf raw, stored;
        struct ZSTD_DCtx_s *dctx;
};
void trace_body_done(struct trace_body *b);

/* Reads and checks a chunk's body; its header in the file must still be the one in c. 0 or -errno
 * (-EBADMSG: damaged). Adds what it read to *bytes_read. */
int trace_chunk_read(int fd, const struct trace_chunk *c, struct trace_body *b,
                     uint64_t *bytes_read, struct err *reterr);

/* Fills reterr with "chunk KIND at offset N: what" and returns -EBADMSG. */
int trace_chunk_bad(const struct trace_chunk *c, const char *what, struct err *reterr);
