/* SPDX-License-Identifier: MIT */
/* Definitions (modules, locations, stacks, processes, threads, …) and the other small rows of a
 * trace, both ways (docs/trace-format.md, "Kinds").
 *
 * Writing: rows gather in a struct trace_defs until trace_defs_flush turns them into chunks.
 * Reading: trace_defs_load adds one chunk's rows to a struct trace_tables. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/vec.h"
#include "trace/chunk.h"
#include "trace/model.h"
#include "trace/reader.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* Rows of one kind that no chunk holds yet. */
struct trace_rows {
        uint32_t first_id, n;
        bytes_buf a, b;   /* b: the second column of LOCS and STKS */
        uint64_t last[9]; /* of the row before, for differences */
};

struct trace_defs {
        struct trace_rows modules, locations, stacks, processes,
                threads; /* first_id + n = the next id */
        struct trace_rows process_ends, thread_names, titles, notes, costs, allocators, priors,
                rooms, tallies, samples, residency, mappings;
        bool has_protects; /* among the mappings */
};

void trace_defs_init(struct trace_defs *d);
void trace_defs_done(struct trace_defs *d);

uint32_t trace_defs_module(struct trace_defs *d, const struct trace_module *m);
uint32_t trace_defs_location(struct trace_defs *d, const struct trace_location *l);
uint32_t trace_defs_stack(struct trace_defs *d, uint32_t parent, uint32_t location);
uint32_t trace_defs_process(struct trace_defs *d, const struct trace_process *p);
uint32_t trace_defs_thread(struct trace_defs *d, const struct trace_thread *t);
void trace_defs_thread_name(struct trace_defs *d, uint32_t thread, const char *name);
void trace_defs_title(struct trace_defs *d, uint32_t process, const char *title);
void trace_defs_process_end(struct trace_defs *d, const struct trace_process_end *e);
void trace_defs_note(struct trace_defs *d, uint64_t time_ns, const char *text);
void trace_defs_cost(struct trace_defs *d, const struct trace_cost *c);
void trace_defs_allocator(struct trace_defs *d, const struct trace_allocator *a);
void trace_defs_room(struct trace_defs *d, const struct trace_room *x);
void trace_defs_prior(struct trace_defs *d, const struct trace_prior *x);
void trace_defs_tally(struct trace_defs *d, const struct trace_tally *t);
void trace_defs_sample(struct trace_defs *d, const struct trace_sample *s);
void trace_defs_residency(struct trace_defs *d, const struct trace_residency *row);
void trace_defs_mapping(struct trace_defs *d, const struct trace_mapping *m);

void trace_encode_meta(bytes_buf *out, const struct trace_meta *m);

/* Appends chunks of everything gathered but the mappings, in an order that defines before use. */
void trace_defs_flush(struct trace_defs *d, struct trace_packer *p, bytes_buf *out);
void trace_defs_flush_mappings(struct trace_defs *d, struct trace_packer *p, bytes_buf *out);

/* Rows must be sorted by location; by module. */
void trace_encode_symbols(bytes_buf *out, const struct trace_symbol *symbols, size_t n);
void trace_encode_module_names(bytes_buf *out, const struct trace_module_names *rows, size_t n);

/* ---- reading --------------------------------------------------------------------------------- */

struct trace_tables {
        struct arena *arena; /* strings and argument lists */
        struct trace_meta meta;
        bool has_meta;
        uint64_t file_bytes; /* bounds how many ids there can be */
        VEC(struct trace_module) modules;
        VEC(struct trace_location) locations;
        VEC(struct trace_stack) stacks;
        VEC(struct trace_process_info) processes;
        VEC(struct trace_thread_info) threads;
        VEC(struct trace_note) notes;
        struct trace_cost cost; /* the last one said */
        VEC(struct trace_allocator) allocators;
        VEC(struct trace_prior) priors;
        VEC(struct trace_room) rooms;
        VEC(struct trace_tally) tallies; /* by process; process TRACE_NO_PROCESS: it has none */
        VEC(struct trace_symbol) symbols;
        VEC(struct trace_module_names) module_names;
        VEC(struct trace_sample) samples;
        VEC(struct trace_residency) residency;
        VEC(struct trace_mapping) mappings;
};

void trace_tables_init(struct trace_tables *t, uint64_t file_bytes);
void trace_tables_done(struct trace_tables *t);

/* Adds the rows of one chunk. Ids that are missing before its first become unnamed entries.
 * 0, or the trace error; then none of its ids is defined. */
int trace_tables_load(struct trace_tables *t, const struct trace_chunk *c,
                      const struct trace_body *b);

/* Makes unnamed entries for the ids of a chunk whose body is damaged. */
void trace_tables_skip(struct trace_tables *t, const struct trace_chunk *c);
