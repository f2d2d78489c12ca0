/* SPDX-License-Identifier: MIT */
/* Opens a trace: finished, still being written, or cut off anywhere. Everything in the file is
 * hostile: lengths, counts, ids and checksums are checked before use; memory asked for never
 * exceeds what the file's size justifies. Definitions are loaded at open; slices, checkpoints
 * and events are read when asked for. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/macros.h"
#include "trace/model.h"

struct trace_reader;

int trace_reader_open(const char *path, struct trace_reader **ret, struct err *reterr);
struct trace_reader *trace_reader_free(struct trace_reader *t); /* NULL ok */
DEFINE_CLEANUP(struct trace_reader, trace_reader_free)

/* Another reader of what this one has opened, for another thread or another place in the trace; either may be freed first. The
 * view is a copy, its tables are the same. Of readers that share, one call of this at a time, and none while another of them
 * reads. */
struct trace_reader *trace_reader_share(struct trace_reader *t);

/* Takes in what was written since: 1 there is more (or another file took the name), 0 nothing, or -errno with the reader as it
 * was. Pointers got before are no longer valid. -EBUSY while others share it. */
int trace_reader_refresh(struct trace_reader *t, struct err *reterr);

struct trace_note {
        uint64_t time_ns;
        const char *text;
};

struct trace_process_info {
        struct trace_process start;
        struct trace_process_end end; /* ended == TRACE_ENDED_UNKNOWN while it has not */
        const char *title;            /* that it wrote over its arguments; NULL: none */
        bool has_end;
        struct trace_process_end
                written_end; /* inside: as in the file, which may have been cut before the slice that reaches it */
        bool has_written_end;
};

struct trace_thread_info {
        struct trace_thread start;
        const char *name; /* "" unknown */
};

/* Everything that is small enough to hold; owned by the reader. */
struct trace_view {
        struct trace_meta meta;
        const struct trace_module *modules;
        size_t n_modules;
        const struct trace_location *locations;
        size_t n_locations;
        const struct trace_stack *stacks;
        size_t n_stacks; /* [0] is the empty stack */
        const struct trace_process_info *processes;
        size_t n_processes;
        const struct trace_thread_info *threads;
        size_t n_threads;
        const struct trace_symbol *symbols;
        size_t n_symbols; /* sorted by location, chain order kept */
        const struct trace_module_names *module_names;
        size_t n_module_names; /* sorted by module; none when names were never looked up */
        const struct trace_note *notes;
        size_t n_notes;
        struct trace_cost cost;
        const struct trace_prior *priors;
        size_t n_priors; /* none where all was seen from the start */
        const struct trace_room *rooms;
        size_t n_rooms; /* as they were written: of one group by time */
        const struct trace_tally *tallies;
        size_t n_tallies; /* by process; of those that have none, `process` is TRACE_NO_PROCESS */
        const struct trace_allocator *allocators;
        size_t n_allocators; /* none where all went through the loader's, or nobody counted */
        size_t n_slices, n_checkpoints;
        uint64_t n_events, end_ns, file_bytes;
        bool finished;               /* has its index */
        bool knows_moves;            /* false: an older silt wrote it, moves are unknown */
        uint64_t n_damaged_bytes;    /* passed over when the index had to be rebuilt */
        uint64_t n_unwritten_events; /* the writer could not write (disk full) */
        /* events whose detail was dropped to keep the file within its bound, and the moment from which on it is
         * there; TRACE_IS_TOTALS: 0, and the end */
        uint64_t n_dropped_events, detail_from_ns;
        char damage[200]; /* one sentence, "" when whole */
};
const struct trace_view *trace_view(const struct trace_reader *t);

struct trace_slice_info {
        uint64_t begin_ns, end_ns, first_seq, n_allocs; /* first_seq: of its first allocation */
        uint32_t n_events, n_sites, n_counts;
        bool has_events; /* false when their detail was dropped or damaged; and for totals, with n_events 1 */
        bool is_dropped; /* to keep the file within its bound, maybe several slices in one; or there never were any */
        bool has_inherited_frees; /* its rows say which releases were of inherited blocks; older ones do not */
};
const struct trace_slice_info *trace_slice(const struct trace_reader *t, size_t slice_idx);

/* Rows of one slice or checkpoint. Pointers are valid until the next call of the same function. */
int trace_read_sites(struct trace_reader *t, size_t slice_idx, const struct trace_site **ret,
                     size_t *ret_n, struct err *reterr);
int trace_read_counts(struct trace_reader *t, size_t slice_idx, const struct trace_counts **ret,
                      size_t *ret_n, struct err *reterr);

/* Moves of one slice. None: it had none, or (view's knows_moves) nobody knows. */
int trace_read_moves(struct trace_reader *t, size_t slice_idx, const struct trace_move **ret,
                     size_t *ret_n, struct err *reterr);

/* The newest checkpoint made at the end of slice `slice_idx` or earlier; *ret_slice = the slice
 * it follows. *ret_n = 0 and *ret_slice = SIZE_MAX when there is none. */
int trace_read_checkpoint(struct trace_reader *t, size_t slice_idx, size_t *ret_slice,
                          const struct trace_site **ret_sites, size_t *ret_n_sites,
                          const struct trace_counts **ret_counts, size_t *ret_n_counts,
                          struct err *reterr);

/* Events of a slice in time order. Each release carries its block's stack, size and seq. */
int trace_read_events(struct trace_reader *t, size_t slice_idx, const struct trace_event **ret,
                      size_t *ret_n, struct err *reterr);

/* Of them ALLOC and REALLOC alone, which takes less time. Instead of trace_read_events: either's are valid until the next call of one. */
int trace_read_allocs(struct trace_reader *t, size_t slice_idx, const struct trace_event **ret,
                      size_t *ret_n, struct err *reterr);

/* When allocation number seq was made: in [*ret_begin_ns, *ret_end_ns), the slice it belongs to. Of an old block whose
 * detail was dropped nothing better is known. False when no slice has it. */
bool trace_seq_time(const struct trace_reader *t, uint64_t seq, uint64_t *ret_begin_ns,
                    uint64_t *ret_end_ns);

int trace_read_samples(struct trace_reader *t, const struct trace_sample **ret, size_t *ret_n,
                       struct err *reterr);
/* In the order they were written: of a site the last one counts. */
int trace_read_residency(struct trace_reader *t, const struct trace_residency **ret, size_t *ret_n,
                         struct err *reterr);
/* Graphs, in the order they were written, those alone that are whole. */
size_t trace_n_graphs(const struct trace_reader *t);
const struct trace_graph *trace_graph(const struct trace_reader *t, size_t graph_idx);
/* Its bytes, behind what ret has. */
int trace_read_graph(struct trace_reader *t, size_t graph_idx, bytes_buf *ret, struct err *reterr);
/* Bills, in the order they were written. */
size_t trace_n_bills(const struct trace_reader *t);
const struct trace_bill *trace_bill(const struct trace_reader *t, size_t bill_idx);
int trace_read_bill(struct trace_reader *t, size_t bill_idx, bytes_buf *ret, struct err *reterr);
/* Ticks, by spans, which may overlap a little; in the order they were written. */
size_t trace_n_tick_spans(const struct trace_reader *t);
const struct trace_tick_span *trace_tick_span(const struct trace_reader *t, size_t span_idx);
int trace_read_ticks(struct trace_reader *t, size_t span_idx, const struct trace_tick **ret,
                     size_t *ret_n, struct err *reterr);
int trace_read_mappings(struct trace_reader *t, const struct trace_mapping **ret, size_t *ret_n,
                        struct err *reterr);

/* Bytes of the file read so far: a test holds windows to under 5 % of a large trace. */
uint64_t trace_bytes_read(const struct trace_reader *t);

int trace_reader_fd(const struct trace_reader *t); /* its own: for a child that closes all others */
