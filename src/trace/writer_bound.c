/* SPDX-License-Identifier: MIT */
/* The bound of a trace (--max-size): how much may be written, and the copy without old detail that makes the file smaller. */
#include "trace/writer_state.h"

enum {
        /* of the bound, in 36ths: where thinning begins, what it aims at, what may be appended while it lasts. The file and
         * its copy are then at most 18 + 3 + 9 + 3 of them; the rest is for the end. */
        WRITER_THIN_AT = 18,
        WRITER_THIN_TO = 9,
        WRITER_THIN_GROWTH = 3,
        WRITER_THIN_INDEX_BYTES = 16 << 20, /* many small slices: the index is in memory */
        WRITER_SLICE_SHARE = 256,           /* events of 4 bytes: a 64th of the bound */
        WRITER_MIN_SLICE_EVENTS = 4096,
};

/* At the bound the disk counts as full. */
bool writer_has_room(const struct trace_writer *w, size_t more_bytes) {
        uint64_t beside_bytes = w->thin ? trace_thin_size_bytes(w->thin) : 0;
        /* what the end takes: a slice of all that was added up, a checkpoint, the index */
        uint64_t end_bytes = WRITER_END_CKPTS * w->checkpoint_bytes + w->index_entries.n;

        return !w->max_bytes || w->is_ending ||
               w->good_end + beside_bytes + end_bytes + more_bytes <= w->max_bytes;
}

void trace_writer_bound(struct trace_writer *w, uint64_t max_bytes) {
        w->max_bytes = max_bytes;
        w->thin_at_bytes = max_bytes / WRITER_BOUND_PARTS * WRITER_THIN_AT;
        w->thin_at_index_bytes = WRITER_THIN_INDEX_BYTES;
}

void writer_abandon_thin(struct trace_writer *w) {
        w->thin = trace_thin_free(w->thin);
        trace_swap_done(&w->swap);
}

/* Not again before the file has grown by a good part of what is left. */
static void writer_put_off_thin(struct trace_writer *w) {
        uint64_t part_bytes = w->max_bytes / WRITER_BOUND_PARTS;

        w->thin_at_bytes = MAX(part_bytes * WRITER_THIN_AT, w->good_end + part_bytes);
        w->thin_at_index_bytes =
                MAX((uint64_t)WRITER_THIN_INDEX_BYTES, w->index_entries.n + w->index_entries.n / 2);
}

static int writer_begin_thin(struct trace_writer *w) {
        uint64_t part_bytes = w->max_bytes / WRITER_BOUND_PARTS;
        int r = trace_swap_begin(w->fd, &w->swap);

        if (r < 0)
                return r;
        w->stepped_bytes = w->good_end;
        return trace_thin_new(w->fd, &w->index_entries, w->swap.fd, part_bytes * WRITER_THIN_TO,
                              part_bytes * WRITER_THIN_GROWTH, w->moments.items, w->moments.n,
                              &w->thin);
}

/* The copy has everything: from here on it is the file. */
static int writer_end_thin(struct trace_writer *w) {
        int r = trace_swap_commit(&w->swap, w->fd);

        if (r < 0)
                return r;
        vec_free(&w->index_entries);
        trace_thin_take_index(w->thin, &w->index_entries, &w->n_index_entries);
        w->good_end = trace_thin_size_bytes(w->thin);
        w->n_slices = trace_thin_n_slices(w->thin);
        w->dirty_tail = false;
        w->n_thinned++;
        writer_abandon_thin(w);
        writer_put_off_thin(w);
        return 0;
}

/* Goes on with the copy as if the file had grown by appended_bytes. */
static void writer_step_thin(struct trace_writer *w, uint64_t appended_bytes) {
        int r = trace_thin_step(w->thin, &w->index_entries, appended_bytes);

        w->stepped_bytes = w->good_end;
        if (r == 1)
                r = writer_end_thin(w);
        if (r < 0) {
                writer_abandon_thin(w);
                writer_put_off_thin(w);
        }
}

/* After each slice: a step of the copy that makes the file smaller, when it is time. */
void writer_keep_bound(struct trace_writer *w) {
        if (!w->max_bytes || w->dirty_tail)
                return;
        if (!w->thin &&
            (w->good_end >= w->thin_at_bytes || w->index_entries.n >= w->thin_at_index_bytes) &&
            writer_begin_thin(w) < 0) {
                writer_abandon_thin(w);
                writer_put_off_thin(w);
        }
        if (w->thin)
                writer_step_thin(w, w->good_end - w->stepped_bytes);
}

/* Whether a slice may be written; a copy at work is brought to its end where that makes room. */
bool writer_make_room(struct trace_writer *w, size_t more_bytes) {
        if (!writer_has_room(w, more_bytes) && w->thin && !w->dirty_tail)
                writer_step_thin(w, w->max_bytes);
        return writer_has_room(w, more_bytes);
}

uint32_t trace_slice_max_events(const struct trace_writer *w) {
        if (!w->max_bytes)
                return TRACE_MAX_SLICE_EVENTS;
        return (uint32_t)MIN(MAX(w->max_bytes / WRITER_SLICE_SHARE,
                                 (uint64_t)WRITER_MIN_SLICE_EVENTS),
                             (uint64_t)TRACE_MAX_SLICE_EVENTS);
}
