/* SPDX-License-Identifier: MIT */
/* The list of a file's chunks: from its index when it has one, else by looking for them
 * (recover.c). Either way each chunk's header kept the limits; bodies have not been looked at. */
#pragma once

#include "base/vec.h"
#include "trace/chunk.h"

struct trace_chunk_list {
        VEC(struct trace_chunk) chunks; /* in file order, without INDX */
        uint64_t end_off;               /* where the next chunk would go */
        uint64_t n_damaged_bytes;       /* passed over */
        uint64_t n_tail_bytes;          /* of them behind end_off: a chunk that was being written */
        uint64_t bytes_read;
        bool finished;  /* the recorder wrote its index */
        bool has_index; /* a trailer ends the file, and it led to a valid index */
};

void trace_chunk_list_done(struct trace_chunk_list *l);

/* Fills *ret (empty before). 0, or -errno when the file cannot be read; a file without chunks is
 * no error here. */
int trace_chunk_list_load(int fd, uint64_t file_bytes, struct trace_chunk_list *ret,
                          struct err *reterr);

/* The part of it in recover.c: a scan of the file from end_off on. */
int trace_recover(int fd, uint64_t file_bytes, struct trace_chunk_list *ret, struct err *reterr);

/* Writing. Adds the entry of the chunk whose header and head stand at p, `off` in the file. */
void trace_index_add(bytes_buf *entries, uint32_t *n_entries, const uint8_t *p, uint64_t off);

/* The chunk of the next entry; false at the end, or when it keeps no limits. The chunk lies in [min_off, max_off). */
bool trace_index_next(struct bytes_reader *r, uint64_t min_off, uint64_t max_off,
                      struct trace_chunk *ret);

/* Appends INDX chunk and trailer, to be written at `off`. */
void trace_index_append(struct trace_packer *p, bytes_buf *out, uint64_t off,
                        const bytes_buf *entries, uint32_t n_entries, bool rebuilt,
                        uint64_t n_damaged_bytes);

/* True when p holds a whole trailer. */
bool trace_trailer_parse(const uint8_t *p, uint64_t *ret_index_off, uint64_t *ret_end_off);
