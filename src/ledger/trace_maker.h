/* SPDX-License-Identifier: MIT */
/* Writes a trace of events that no recorder saw: for importers and for made-up programs (docs/ledger.md). Slices, rows,
 * peaks, lifetimes and checkpoints are the recorder's own arithmetic (book.h).
 *
 * Call order: new → add_module, add_location, add_stack, begin_process, add_thread as they turn up → events →
 * finish → trace_writer_finish, which is the writer's owner's.
 *
 * The caller may be wrong about anything, since files are:
 *  - a call that names what was never added, or a process that is over, changes nothing and returns -EINVAL;
 *    a size or number that no trace can hold, -ERANGE
 *  - a time that goes back is taken for the latest so far, and counted (trace_maker_n_late)
 *  - a release of an address that is not live is an unknown_free; free(NULL) is nothing
 *  - an allocation at an address that is live releases what was there: an implicit_free
 *  - realloc of an unknown block is an unknown_free and an allocation */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "trace/model.h"

struct trace_maker;
struct trace_writer;

/* The writer is borrowed; it is fresh, and gets definitions, events and slices from nobody else. flags: those of its
 * meta. TRACE_IS_TOTALS, with nothing but TRACE_LACKS_* and TRACE_COUNTS_SAMPLES: totals are put and no events; samples are refused.
 * TRACE_LACKS_TIME of events: the caller puts the n-th at n seconds, and slices end only when they are full. */
int trace_maker_new(struct trace_writer *w, uint32_t flags, struct trace_maker **ret);
struct trace_maker *trace_maker_free(struct trace_maker *m); /* NULL ok */
DEFINE_CLEANUP(struct trace_maker, trace_maker_free)

/* Definitions. The same location, and the same stack, asked for twice, is the same id. */
uint32_t trace_maker_add_module(struct trace_maker *m, const struct trace_module *module);
int trace_maker_add_location(struct trace_maker *m, const struct trace_location *l,
                             uint32_t *ret_location);
/* parent: the caller's; 0: none. */
int trace_maker_add_stack(struct trace_maker *m, uint32_t parent, uint32_t location,
                          uint32_t *ret_stack);

/* process->parent, where known, is alive; inherits: forked from it, so that it has the parent's blocks. Its start_ns is when. */
int trace_maker_begin_process(struct trace_maker *m, const struct trace_process *process,
                              bool inherits, uint32_t *ret_process);
int trace_maker_end_process(struct trace_maker *m, const struct trace_process_end *end);
/* name: NULL or "" unknown. */
int trace_maker_add_thread(struct trace_maker *m, const struct trace_thread *thread,
                           const char *name, uint32_t *ret_thread);
/* The last name counts. */
int trace_maker_name_thread(struct trace_maker *m, uint32_t thread, const char *name);

/* Events. address is not 0; stack 0: unknown. */
struct trace_maker_block {
        uint64_t address, size_bytes;
        uint32_t stack;
        bool is_cut; /* its call path is not whole */
};
/* An event of this address comes soon: what it needs from far memory is fetched. A guess may be wrong. */
void trace_maker_expect(struct trace_maker *m, uint32_t thread, uint64_t address,
                        bool is_allocation);
int trace_maker_allocate(struct trace_maker *m, uint64_t time_ns, uint32_t thread,
                         const struct trace_maker_block *block);
/* stack: where it is released, with TRACE_HAS_FREE_STACKS; else 0. */
int trace_maker_release(struct trace_maker *m, uint64_t time_ns, uint32_t thread, uint64_t address,
                        uint32_t stack);
/* Of old_address to block; old_address 0: an allocation, and no reallocation. */
int trace_maker_reallocate(struct trace_maker *m, uint64_t time_ns, uint32_t thread,
                           uint64_t old_address, const struct trace_maker_block *block);
/* A call that returned no block. */
int trace_maker_fail(struct trace_maker *m, uint64_t time_ns, uint32_t thread, uint64_t size_bytes);
/* So many events are missing here. */
int trace_maker_lose(struct trace_maker *m, uint64_t time_ns, uint32_t thread, uint64_t n_events);

void trace_maker_note(struct trace_maker *m, uint64_t time_ns, const char *text);
int trace_maker_sample(struct trace_maker *m, const struct trace_sample *sample);
/* Where a thread's time went, also of a process that has ended. Not of totals; a time that goes back stays as it is. */
int trace_maker_tick(struct trace_maker *m, const struct trace_tick *tick);

/* Totals (a writer with TRACE_IS_TOTALS): what a site did since the start, as profiles without events say it. Blocks and bytes go
 * together: more bytes take more blocks. Sums never shrink, and no more is released than was allocated: else -ERANGE. */
struct trace_maker_total {
        uint32_t process, stack;
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
};
/* At time_ns, each site once; of those not named nothing changed. All of them or, on error, none. */
int trace_maker_put_totals(struct trace_maker *m, uint64_t time_ns,
                           const struct trace_maker_total *totals, size_t n);

/* The open slice ends now, whatever is in it: for moments that somebody will ask for. */
void trace_maker_end_slice(struct trace_maker *m, uint64_t time_ns);

/* The last slice and its checkpoint. Processes that are not over were alive when the recording ended. */
void trace_maker_finish(struct trace_maker *m, uint64_t end_ns);

uint64_t trace_maker_n_late(const struct trace_maker *m); /* times that went back */
/* Since the start; false: it is unknown, or over and forgotten. */
bool trace_maker_get_counts(const struct trace_maker *m, uint32_t process,
                            struct trace_counts *ret);
