/* SPDX-License-Identifier: MIT */
/* Writes a trace (docs/trace-format.md). One thread; everything goes out at the end of a slice.
 *
 *  - what was flushed is readable whatever happens to the writer afterwards
 *  - a failed write (disk full) is remembered and counted, never fatal: the writer goes on without the file's
 *    newest part and the next successful chunk says how much was lost
 *
 * Call order: open → add_module/location/stack/process/thread as they turn up → put_* in time
 * order → end_slice → … → (symbols) → finish. An id must be defined before an event or row uses
 * it. */
#pragma once

#include "base/err.h"
#include "base/macros.h"
#include "trace/model.h"
#include "trace/stage.h"

struct trace_writer;

/* Takes fd on success. The file is empty or to be overwritten from its start. */
int trace_writer_open(int fd, const struct trace_meta *meta, struct trace_writer **ret,
                      struct err *reterr);
/* Keeps the file within max_bytes by making smaller copies of it as it grows (docs/trace-format.md, "A bounded
 * file"); fd goes on being the file of that name. Before the first slice. */
void trace_writer_bound(struct trace_writer *w, uint64_t max_bytes);
/* Without finish the file has no index. NULL ok. */
struct trace_writer *trace_writer_free(struct trace_writer *w);
DEFINE_CLEANUP(struct trace_writer, trace_writer_free)

/* Definitions; ids are returned and count from 0 (stacks from 1). Strings are copied. */
uint32_t trace_add_module(struct trace_writer *w, const struct trace_module *m);
uint32_t trace_add_location(struct trace_writer *w, const struct trace_location *l);
uint32_t trace_add_stack(struct trace_writer *w, uint32_t parent, uint32_t location);
uint32_t trace_add_process(struct trace_writer *w, const struct trace_process *p);
uint32_t trace_add_thread(struct trace_writer *w, const struct trace_thread *t);
/* The last name counts. */
void trace_name_thread(struct trace_writer *w, uint32_t thread, const char *name);
void trace_title_process(struct trace_writer *w, uint32_t process, const char *title);
void trace_end_process(struct trace_writer *w, const struct trace_process_end *e);
/* Shown in the report, e.g. "pid 12 not followed: …". */
void trace_put_allocator(struct trace_writer *w, const struct trace_allocator *a);
void trace_put_cost(struct trace_writer *w, const struct trace_cost *c);   /* the last one counts */
void trace_put_prior(struct trace_writer *w, const struct trace_prior *x); /* attached */
void trace_put_room(struct trace_writer *w, const struct trace_room *x);
void trace_put_tally(struct trace_writer *w, const struct trace_tally *t); /* sampled */
void trace_put_note(struct trace_writer *w, uint64_t time_ns, const char *text);
/* A whole graph, at once. False: no room, nothing of it is in the file. */
bool trace_put_graph(struct trace_writer *w, const struct trace_graph *g, const uint8_t *bytes);
/* The same of a bill, of at most TRACE_BILL_MAX_BYTES. */
bool trace_put_bill(struct trace_writer *w, const struct trace_bill *b, const uint8_t *bytes);

/* Sampled: how many blocks that which the events to come allocate, and release, stands for; until it is said anew. */
void trace_put_weights(struct trace_writer *w, uint32_t n_blocks, uint32_t old_n_blocks);

/* Events, in time order, at most TRACE_MAX_SLICE_EVENTS per slice (the caller ends slices).
 * put_alloc and put_realloc return the sequence number of the new block; put_alloc and put_free are inline, in
 * trace/stage.h. */
uint64_t trace_put_realloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                           uint32_t stack, uint64_t size_bytes, uint64_t address);
/* value as in enum trace_other; seq, stack and size of the block for TRACE_IMPLICIT_FREE, else
 * 0. */
void trace_put_other(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                     enum trace_other other, uint64_t value, uint64_t seq, uint32_t block_stack);
void trace_put_sample(struct trace_writer *w, const struct trace_sample *s);
void trace_put_residency(struct trace_writer *w, const struct trace_residency *row);
/* Of the open slice, in any order of times; before the moment is over by much. */
void trace_put_tick(struct trace_writer *w, const struct trace_tick *tick);
size_t trace_n_open_ticks(const struct trace_writer *w); /* that wait for the slice to end */
void trace_put_mapping(struct trace_writer *w, const struct trace_mapping *m);

size_t trace_slice_n_events(const struct trace_writer *w); /* in the open slice */
/* What a slice should hold at most: where the bound is small, slices are to be small too. */
uint32_t trace_slice_max_events(const struct trace_writer *w);

uint64_t trace_slice_begin_ns(const struct trace_writer *w); /* of the open slice */
/* When the open slice really ends if it is ended at end_ns: in whole microseconds, behind its last event. */
uint64_t trace_slice_end_ns(const struct trace_writer *w, uint64_t end_ns);
/* A bounded trace keeps the end of the open slice, which end_ns is to be, as the end of one, as long as there is room for it. */
void trace_keep_moment(struct trace_writer *w, uint64_t end_ns);

/* Rows of moves for the open slice (any order), before it ends; maybe none. A recording whose writer never called this
 * does not know its moves. */
void trace_put_moves(struct trace_writer *w, const struct trace_move *moves, size_t n);

/* Ends the slice at end_ns: rows of the sites that changed (any order) and of the processes that
 * changed (plus the TRACE_NO_PROCESS row when there is more than one process). Writes everything
 * out. */
void trace_end_slice(struct trace_writer *w, uint64_t end_ns, const struct trace_site *sites,
                     size_t n_sites, const struct trace_counts *counts, size_t n_counts);

/* On: another thread makes columns of the events that are put, and packs those of a slice while those of the next are put; the
 * slice is in the file when that is done, at the latest when the next ends, and the file is the same, byte for byte. One slice at a
 * time: at its end the next waits for it. Where there is no thread to be had it stays off. Returns whether there is one. */
bool trace_writer_set_worker(struct trace_writer *w, bool on);
/* All that ended is in the file, or will not be: for before a pause, and before somebody is told. */
void trace_writer_settle(struct trace_writer *w);

/* Slices that took long are packed no harder than others: for who does not wait for a program meanwhile. */
void trace_writer_hurry(struct trace_writer *w);

/* True when rows written since the last checkpoint outweigh one: time for trace_put_checkpoint,
 * right after end_slice. The caller also puts one behind the last slice, before finish. */
bool trace_wants_checkpoint(const struct trace_writer *w, size_t n_sites_now);
/* True when reading from the last checkpoint on takes much of what reading one takes: worth one where somebody will ask. */
bool trace_allows_checkpoint(const struct trace_writer *w, size_t n_sites_now);
void trace_put_checkpoint(struct trace_writer *w, const struct trace_site *sites, size_t n_sites,
                          const struct trace_counts *counts, size_t n_counts);

/* Index and trailer. Symbols are appended later by symbol/ through trace_append_symbols. 0 or
 * the first write error. */
int trace_writer_finish(struct trace_writer *w, struct err *reterr);

/* Names for a finished (or recovered) trace, in any order of locations; they take the place of older ones.
 * Killed at any moment, or out of room, it leaves a trace that can be read, with the old names or the new. */
struct trace_names {
        const struct trace_symbol *symbols; /* chains of one location in order */
        size_t n_symbols;
        const struct trace_module_names *modules; /* sorted by module */
        size_t n_modules;
};
int trace_put_names(const char *path, const struct trace_names *names, struct err *reterr);
/* In two steps, with the look-up between them: a descriptor with the trace's lock, or -errno; path is for messages. */
int trace_open_for_names(const char *path, struct err *reterr);
int trace_put_names_to(int fd, const char *path, const struct trace_names *names,
                       struct err *reterr);
/* The same without a word on modules. */
int trace_append_symbols(const char *path, const struct trace_symbol *symbols, size_t n,
                         struct err *reterr);
/* A note behind all that is there, by whoever outlived the recorder; its time is 0. */
int trace_append_note(const char *path, const char *text, struct err *reterr);

uint64_t trace_writer_size_bytes(const struct trace_writer *w);
uint64_t trace_writer_n_events(const struct trace_writer *w);
/* What ended is not all in the file, and will not be as long as it cannot be written. */
bool trace_writer_is_behind(struct trace_writer *w);
uint64_t trace_writer_n_thinned(const struct trace_writer *w); /* smaller copies made */
uint64_t trace_writer_n_unwritten(
        const struct trace_writer *w); /* of them, that no write took: disk full */
uint64_t trace_writer_n_unwritten_ticks(const struct trace_writer *w); /* the same of ticks */
