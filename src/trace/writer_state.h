/* SPDX-License-Identifier: MIT */
/* A writer of traces as its files share it. Inside trace/ only. */
#pragma once

#include "trace/backlog.h"
#include "trace/defs.h"
#include "trace/events.h"
#include "trace/moves_codec.h"
#include "trace/swap.h"
#include "trace/thin.h"
#include "trace/writer.h"

enum {
        WRITER_BOUND_PARTS = 36, /* the bound is counted in such parts (writer_bound.c) */
        WRITER_END_CKPTS = 3,    /* checkpoints that the end of the trace may take */
};

struct trace_writer {
        int fd;
        struct trace_packer *packer;
        struct trace_encoder *encoder;
        struct trace_defs defs;
        struct trace_backlog backlog;
        trace_move_vec moves; /* of the open slice */
        bool is_sampled;
        uint32_t slice_flags;       /* of every slice */
        bool knows_moves, has_move; /* somebody put some, maybe none; a MOVE is in the file */
        bytes_buf must, body, site_body, index_entries;
        uint32_t n_index_entries, n_slices;
        uint64_t good_end, begin_us, first_seq, n_events;
        /* rows since, and size of, the last checkpoint */
        uint64_t rows_bytes, checkpoint_bytes, n_checkpoint_sites;
        uint64_t n_unwritten_mappings, n_unwritten; /* mappings to be told; all events ever */
        int error;                                  /* of the first write that failed, -errno */
        bool dirty_tail;                            /* there may be bytes behind good_end */

        VEC(uint64_t) moments; /* ends of slices that are to stay such, rising */
        uint64_t max_bytes;    /* 0: no bound */
        uint64_t thin_at_bytes, thin_at_index_bytes;
        uint64_t n_thinned;      /* copies made */
        uint64_t stepped_bytes;  /* good_end at the last step of thinning */
        bool is_ending;          /* the last slice is written even where there is no room */
        struct trace_thin *thin; /* NULL: none at work */
        struct trace_swap swap;
        uint32_t n_graphs;
};

/* writer_bound.c */
bool writer_has_room(const struct trace_writer *w, size_t more_bytes);
bool writer_make_room(struct trace_writer *w,
                      size_t more_bytes);       /* whether a slice may be written */
void writer_keep_bound(struct trace_writer *w); /* after each slice */
void writer_abandon_thin(struct trace_writer *w);
