/* SPDX-License-Identifier: MIT */
/* Stands in for trace/writer.c in tests and benchmarks of the pipeline: keeps everything it is given in memory, or
 * counts alone. */
#pragma once

#include "base/vec.h"
#include "trace/writer.h"

struct fake_slice {
        uint64_t end_ns;
        size_t n_events; /* of the slice */
        VEC(struct trace_site) sites;
        VEC(struct trace_counts) counts;
        VEC(struct trace_move) moves;
};

struct trace_writer {
        struct trace_stage stage; /* never has room: every event comes by trace_stage_* */
        bool counts_only;
        bool wants_checkpoints;           /* after every slice */
        VEC(struct trace_module) modules; /* paths are copied */
        VEC(struct trace_location) locations;
        VEC(struct trace_stack) stacks; /* [0] is the empty one */
        VEC(struct trace_process) processes;
        VEC(struct trace_thread) threads;
        VEC(struct trace_event) events;
        VEC(struct trace_mapping) mappings;
        VEC(struct trace_residency) residency;
        VEC(struct fake_slice) slices;
        VEC(struct trace_move) moves; /* of the open slice */
        struct fake_slice checkpoint; /* the latest */
        char last_name[32];
        uint32_t last_named;
        char last_note[256];
        size_t n_notes;
        uint64_t n_seqs, n_events, n_rows, last_ns;
        size_t n_in_slice, n_open_ticks; /* ticks: as a test has it */
        uint32_t n_blocks, old_n_blocks; /* of what comes next; 0: never said */
        struct trace_tally tally;        /* the last one */
};

struct trace_writer *fake_writer_new(bool counts_only);
struct trace_writer *fake_writer_free(struct trace_writer *w);
