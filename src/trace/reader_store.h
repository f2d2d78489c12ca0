/* SPDX-License-Identifier: MIT */
/* What a reader is made of. The store is what was found in the file: the list of its chunks, definitions, where slices are.
 * Readers that share it (trace_reader_share) only read it, so that each may belong to another thread; it changes while one
 * reader alone has it, when that opens or refreshes. Everything else in a reader is its own. Inside trace/ only. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "trace/defs.h"
#include "trace/events.h"
#include "trace/index.h"
#include "trace/moves_codec.h"
#include "trace/reader.h"
#include "trace/rows.h"
#include "trace/ticks.h"

enum { NO_CHUNK = -1 };

/* Places in list.chunks; NO_CHUNK when absent. */
struct slice_place {
        uint32_t number;
        ssize_t slic, site, move, evts;
};

struct checkpoint_place {
        size_t slice_idx;
        size_t chunk;
};

/* A graph whose parts are all there: chunks one behind the other. */
struct graph_place {
        struct trace_graph info;
        uint32_t number, n_parts, n_seen;
        size_t first_chunk;
};

struct bill_place {
        struct trace_bill info;
        size_t chunk;
};

struct tick_place {
        struct trace_tick_span info;
        size_t chunk;
};

struct trace_store {
        unsigned n_readers; /* atomic */
        char *path;         /* as it was opened */
        int fd;
        struct trace_chunk_list list;
        size_t n_taken; /* chunks of the list that the rest contains */
        struct trace_tables tables;
        uint64_t next_seq; /* no event of a later slice allocates a smaller one */
        VEC(struct trace_slice_info) slices;
        VEC(struct slice_place) places; /* of the same slices */
        VEC(struct checkpoint_place) checkpoints;
        struct slice_place open; /* parts that wait for their SLIC */
        VEC(struct graph_place) graphs;
        VEC(struct bill_place) bills;
        VEC(struct tick_place) tick_spans;
        struct graph_place open_graph; /* parts that wait for the last; n_parts 0: none does */
        uint32_t names_generation;     /* of the newest SYMS chunk */
        bool is_tail_told;             /* the view's damage is at most that of the file's end */
        bool has_samples, has_mappings, has_residency;
};

struct trace_reader {
        struct trace_store *store;
        struct trace_view view;
        struct trace_body body;
        struct trace_decoder *decoder;
        uint64_t bytes_read;
        /* what the read functions handed out last */
        trace_site_vec sites, checkpoint_sites;
        trace_counts_vec counts, checkpoint_counts;
        trace_move_vec moves;
        trace_tick_vec ticks;
        /* Counts of slices: small, and asked for again by every question. */
        struct arena *kept_arena;
        size_t n_kept_bytes;
        VEC(const struct trace_counts *) kept_counts; /* by slice; NULL: not kept */
};

static inline int reader_read(struct trace_reader *t, const struct trace_chunk *c,
                              struct err *reterr) {
        return trace_chunk_read(t->store->fd, c, &t->body, &t->bytes_read, reterr);
}

/* Loads every chunk of a kind that opening left alone. */
void reader_load_kind(struct trace_reader *t, uint32_t kind, bool *done);
