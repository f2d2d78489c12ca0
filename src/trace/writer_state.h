/* SPDX-License-Identifier: MIT */
/* A writer of traces as its files share it. Inside trace/ only. */
#pragma once

#include "trace/backlog.h"
#include "trace/defs.h"
#include "trace/events.h"
#include "trace/moves_codec.h"
#include "trace/pack_worker.h"
#include "trace/slice.h"
#include "trace/swap.h"
#include "trace/thin.h"
#include "trace/ticks.h"
#include "trace/writer.h"

enum {
        WRITER_BOUND_PARTS = 36, /* the bound is counted in such parts (writer_bound.c) */
        WRITER_END_CKPTS = 3,    /* checkpoints that the end of the trace may take */
};

/* What the end of a slice needs to know of its beginning. */
struct writer_ending {
        struct trace_slice_rows s;
        uint64_t end_ns; /* as the caller said */
        size_t must_bytes, rows_bytes, n_ticks;
        uint32_t n_mappings;
        bool has_room, is_hard;
};

/* A slice whose events the worker has. */
struct writer_pending {
        bool is_open;
        struct writer_ending x;
        VEC(struct trace_site) sites;
        VEC(struct trace_counts) counts;
        trace_move_vec moves;
        struct pack_job job; /* its body is that of slices without a worker, too */
};

struct trace_writer {
        struct trace_stage stage; /* first: trace/stage.h */
        struct trace_stage_buf *buf;
        bool stages_more;                /* of every event */
        uint32_t n_blocks, old_n_blocks; /* that those of the next event stand for */
        uint32_t n_encoded;              /* events of the open slice that have left the stage */
        uint64_t last_us;                /* of the newest of them, or begin_us */
        struct pack_worker *worker;      /* NULL: none */
        struct writer_pending pending;
        int fd;
        struct trace_packer *packer;
        struct trace_encoder *encoder;
        struct trace_defs defs;
        struct trace_backlog backlog;
        trace_move_vec moves; /* of the open slice */
        trace_tick_vec ticks; /* likewise */
        bool is_sampled;
        bool is_hurried;            /* no slice is packed hard */
        uint32_t slice_flags;       /* of every slice */
        bool knows_moves, has_move; /* somebody put some, maybe none; a MOVE is in the file */
        bytes_buf must, body, site_body, index_entries;
        uint32_t n_index_entries, n_slices;
        uint64_t good_end, begin_us, first_seq;
        uint64_t n_events; /* of all slices that ended */
        /* rows since, and size of, the last checkpoint */
        uint64_t rows_bytes, checkpoint_bytes, n_checkpoint_sites;
        uint64_t n_unwritten_mappings, n_unwritten; /* mappings to be told; all events ever */
        uint64_t n_unwritten_ticks, n_unwritten_ticks_ever; /* to be told; all */
        int error;       /* of the first write that failed, -errno */
        bool dirty_tail; /* there may be bytes behind good_end */

        VEC(uint64_t) moments; /* ends of slices that are to stay such, rising */
        uint64_t max_bytes;    /* 0: no bound */
        uint64_t thin_at_bytes, thin_at_index_bytes;
        uint64_t n_thinned;      /* copies made */
        uint64_t stepped_bytes;  /* good_end at the last step of thinning */
        bool is_ending;          /* the last slice is written even where there is no room */
        struct trace_thin *thin; /* NULL: none at work */
        struct trace_swap swap;
        uint32_t n_graphs, n_bills;
};

/* writer.c: writes `must`, which stays as far as must_bytes when that fails */
bool writer_write_must(struct trace_writer *w, size_t must_bytes, bool has_room);

/* writer_slices.c */
size_t writer_append_backlog(struct trace_writer *w);
void writer_note_missing(struct trace_writer *w, uint64_t time_ns, const char *what, uint64_t *n);
void writer_look_pending(struct trace_writer *w); /* settles what is ready */

/* writer_bound.c */
bool writer_has_room(const struct trace_writer *w, size_t more_bytes);
bool writer_make_room(struct trace_writer *w,
                      size_t more_bytes);       /* whether a slice may be written */
void writer_keep_bound(struct trace_writer *w); /* after each slice */
void writer_abandon_thin(struct trace_writer *w);

/* writer_events.c */
void writer_init_events(struct trace_writer *w, uint32_t flags);
void writer_done_events(struct trace_writer *w);
void writer_flush_stage(struct trace_writer *w);
void writer_begin_events(
        struct trace_writer *w); /* of a new slice, from first_seq and begin_us on */
/* Of the open slice: how many, and the time of the newest, or begin_us. */
uint32_t writer_n_events(const struct trace_writer *w);
uint32_t writer_n_allocs(const struct trace_writer *w);
uint64_t writer_last_us(const struct trace_writer *w);
