/* SPDX-License-Identifier: MIT */
/* What the parts of the verifier share: the file, the chunk at hand, what has been defined so
 * far, and the books it keeps to hold rows and checkpoints against the events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/errors.h"
#include "trace/format.h"
#include "trace/model.h"

struct verify_block {
        uint64_t key;        /* 0: free place */
        uint64_t size_bytes; /* UINT64_MAX: an inherited block that this process has released */
        uint32_t stack, thread;
        uint32_t n_blocks; /* that it stands for */
};

/* Live blocks by (process, seq): open addressing, removal by shifting back. */
struct verify_live {
        struct verify_block *blocks;
        size_t n, cap;
};

struct verify_process {
        uint32_t parent;
        uint64_t live_blocks, live_bytes; /* at the end of the newest slice that has a row of it */
        struct trace_counts total;        /* sums and highest peak */
        /* of the open slice, from its events */
        struct trace_counts events;
        int64_t change_blocks, change_bytes, peak_change_bytes, peak_change_blocks;
        struct trace_site rows; /* sums of the open slice's rows */
        uint64_t tally[6];      /* the last one told: sums that only grow */
        bool has_events;
};

/* A site of the open slice: its row in the file, and what the events say. */
/* Inherited blocks that a site released. */
struct verify_released {
        uint64_t n, bytes;
};

struct verify_site {
        struct trace_site row, events;
};

/* The same for moves. */
struct verify_move {
        struct trace_move row, events, exchanges; /* said; implied by realloc, and by free */
};

/* What a thread allocated last, unless it has replaced a block already. */
struct verify_latest {
        uint64_t size_bytes;
        uint32_t stack;
        bool is_known;
};

struct verify {
        int fd;
        FILE *out;
        uint64_t file_bytes, n_problems;

        /* the chunk at hand */
        uint64_t off, n_chunks;
        uint32_t kind;
        uint8_t header[TRACE_HEADER_BYTES], head[TRACE_MAX_HEAD_BYTES];
        uint32_t head_bytes, stored_bytes, raw_bytes;
        bytes_buf stored, raw;

        /* definitions */
        bool has_meta;
        uint32_t meta_flags;
        uint64_t n_modules, n_locations, n_stacks, n_threads;
        VEC(uint32_t) thread_process;
        VEC(struct verify_process) processes;
        uint64_t next_generation;

        /* slices */
        uint64_t n_slices, n_events, n_without_events, n_detailed, next_seq, end_ns;
        bool has_site, has_evts;  /* since the last SLIC */
        bool has_inherited_frees; /* the rows of that SITE say them */
        bool evts_is_bad;         /* its figures are of no use */
        bool lacks_events; /* events of some slice are not in the file: blocks may be unknown */
        uint32_t evts_n_events, evts_n_allocs;
        uint64_t last_event_us;
        VEC(struct verify_site) sites; /* of the open slice */
        struct map site_by_key;
        VEC(struct trace_site) totals;        /* sums of all rows */
        VEC(struct verify_released) released; /* at the same places: by events */
        struct map total_by_key;
        struct verify_live live;
        VEC(uint64_t) last_seq;        /* by thread: its newest allocation + 1 */
        bool has_move, knows_moves;    /* since the last SLIC; anywhere */
        VEC(struct verify_move) moves; /* of the open slice */
        struct map move_by_key;
        VEC(struct verify_latest) latest; /* by thread */

        /* a graph, of which not all parts may have come */
        bytes_buf graph;
        uint32_t graph_number, graph_part; /* which comes next */

        /* index */
        bytes_buf entries;
        uint64_t n_entries, index_off;
        bool has_index, is_finished;
};

/* Prints a problem of the chunk at hand; always false, so that a check may return it. */
bool verify_bad(struct verify *v, enum trace_error error, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Payloads, by kind; false when the chunk is of no further use. The body is in raw. */
bool verify_graph_part(struct verify *v);
bool verify_bill_chunk(struct verify *v);
bool verify_tick_chunk(struct verify *v);
bool verify_definitions(struct verify *v);
bool verify_site_chunk(struct verify *v);
bool verify_move_chunk(struct verify *v);
bool verify_evts_chunk(struct verify *v);
bool verify_slic_chunk(struct verify *v);
bool verify_ckpt_chunk(struct verify *v);

/* Rows, for slices and checkpoints. */
typedef VEC(struct trace_site) verify_site_rows;
typedef VEC(struct trace_counts) verify_count_rows;
bool verify_parse_sites(struct verify *v, struct bytes_reader *r, uint64_t n,
                        verify_site_rows *ret);
bool verify_parse_counts(struct verify *v, struct bytes_reader *r, uint64_t n,
                         verify_count_rows *ret);

/* The open slice's site, made when missing. */
struct verify_site *verify_site_at(struct verify *v, uint32_t process, uint32_t stack);

/* Books of moves: what the events do to them, in order; block_thread: TRACE_NO_THREAD for what is inherited. */
void verify_moves_alloc(struct verify *v, uint32_t thread, uint32_t stack, uint64_t size_bytes);
void verify_moves_realloc(struct verify *v, uint32_t thread, uint32_t stack,
                          uint64_t old_size_bytes, uint64_t size_bytes);
void verify_moves_release(struct verify *v, uint32_t thread, uint32_t block_thread, uint32_t stack,
                          uint64_t size_bytes, bool is_free);
void verify_moves_forget(struct verify *v, uint32_t thread); /* it released its latest */
/* At the slice's end: compares and begins anew. */
void verify_end_moves(struct verify *v, bool has_events);
void verify_moves_done(struct verify *v);

/* Books of live blocks. */
struct verify_block *verify_live_find(struct verify_live *l, uint32_t process, uint64_t seq);
struct verify_block *verify_live_add(struct verify_live *l, uint32_t process, uint64_t seq);
void verify_live_remove(struct verify_live *l, struct verify_block *b);
void verify_live_done(struct verify_live *l);
