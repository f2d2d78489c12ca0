/* SPDX-License-Identifier: MIT */
/* The trace that an importer fills: events or totals of one process, call paths, and the names that the source has for them.
 * Inside import/ only.
 *
 *   import_trace_begin(t, &(struct import_begin){.is_totals = true, .command = "server -p 1"}, &err);
 *   import_trace_place(t, &(struct import_place){.module = "/usr/bin/server", .address = 0x1234}, &location, &err);
 *   import_trace_stack(t, parent, location, &stack);           // the outermost frame first, its parent 0
 *   import_trace_live(t, stack, 3, 300); import_trace_moment(t, 0, &err);
 *
 * Several files of one format are read one after the other into one trace: begin again is nothing, and each adds its moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/model.h"

struct import_trace;

struct import_begin {
        bool is_totals; /* sums at moments; else events */
        bool has_no_time; /* the source knows none: moments, or events, are numbered, whatever time they are given */
        /* Of totals: the source knows bytes, but no blocks (give 1 or
         * more, nobody sees them); what is live, but not what was allocated and freed (import_trace_live); one
         * moment alone, which is not that of the peak. */
        bool has_no_blocks, has_no_traffic, has_no_peak;
        bool has_no_live; /* what was allocated, but not what was freed (import_trace_total without frees); there is no peak either */
        bool has_no_threads;  /* of events: the source does not tell who did what */
        bool names_made_code; /* the files of this machine (/tmp/perf-PID.map) name code in no file: its pids are this machine's */
        uint64_t
                sample_bytes; /* of totals: they are estimates from samples, one in so many bytes; up to 1: counted */
        enum trace_unit unit; /* another one than bytes takes has_no_blocks */
        bool counts_samples;  /* of another unit: allocations are samples, all of which are known */
        const char *command;  /* words between blanks; NULL or "": unknown */
        const char *program;  /* its first word, if that alone is known */
        uint32_t pid;         /* 0: unknown */
        uint64_t started_unix_ns;
        uint32_t page_bytes; /* 0: unknown */
        uint32_t machine;    /* ELF e_machine; 0: unknown, taken for this machine's */
};
int import_trace_begin(struct import_trace *t, const struct import_begin *b, struct err *reterr);
bool import_trace_is_begun(const struct import_trace *t);
bool import_trace_lacks_traffic(const struct import_trace *t); /* as it was begun */
size_t import_trace_n_files(const struct import_trace *t);     /* that are read into it */
/* What is to be read of files that count several things, by its name; "": what they put first. */
const char *import_trace_sample_type(const struct import_trace *t);
/* As the first file said; 0: unknown. */
uint64_t import_trace_started_unix_ns(const struct import_trace *t);

/* ---- call paths -------------------------------------------------------------------------------- */

struct import_function {
        const char *name; /* "" unknown; demangled here where it is mangled */
        const char *file; /* "" or NULL unknown */
        uint32_t line;    /* 0 unknown */
};

/* Where a frame's code is. */
struct import_place {
        const char *module; /* path of the file of code; NULL or "": unknown */
        /* The return address, as the module's file counts (its virtual addresses), or as it was in memory where the module is
         * unknown. 0: unknown, then places differ by their functions. */
        uint64_t address;
        /* Innermost inlined function first, the one that was really called last. None: the module's file is asked for the names
         * when all is read. */
        const struct import_function *functions;
        size_t n_functions;
        const uint8_t *build_id; /* NULL: unknown */
        size_t n_build_id;
};
/* Names are looked up in a copy of a file that the source carries, not in what this machine has at that path: an empty file for n_bytes, which the
 * caller closes. -errno: it is not taken. */
int import_trace_keep_file(struct import_trace *t, const char *path, uint64_t n_bytes);
/* The folder in which they are, with the paths they had. NULL: there are none. */
const char *import_trace_kept_root(const struct import_trace *t);

int import_trace_place(struct import_trace *t, const struct import_place *p, uint32_t *ret_location,
                       struct err *reterr);
/* A place and what it calls from there: *stack is the caller's, 0 none, and becomes that of the place. */
int import_trace_call(struct import_trace *t, const struct import_place *p, uint32_t *stack,
                      struct err *reterr);
/* parent: the caller's stack; 0 none. */
int import_trace_stack(struct import_trace *t, uint32_t parent, uint32_t location,
                       uint32_t *ret_stack);

/* ---- events ------------------------------------------------------------------------------------ */

/* Of the one thread there is unless others are added. Addresses are the caller's: any number but 0 that is one block's at a time. Times
 * that go back are taken for the latest. */
int import_trace_add_thread(struct import_trace *t, uint32_t tid, const char *name,
                            uint32_t *ret_thread);
/* An event of this address, of thread 0, comes soon (ledger/trace_maker.h). */
void import_trace_expect(struct import_trace *t, uint64_t address, bool is_allocation);
int import_trace_allocate(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                          uint64_t address, uint64_t size_bytes, uint32_t stack);
int import_trace_release(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                         uint64_t address);
int import_trace_reallocate(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                            uint64_t old_address, uint64_t address, uint64_t size_bytes,
                            uint32_t stack);
/* Resident memory. */
int import_trace_rss(struct import_trace *t, uint64_t time_ns, uint64_t rss_bytes);

/* ---- totals ------------------------------------------------------------------------------------ */

/* What a call path did from the start up to the moment to come. Given twice for a moment, it adds up: of several stacks that are one
 * here. */
struct import_total {
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
};
int import_trace_total(struct import_trace *t, uint32_t stack, const struct import_total *total);
/* Only what is live at the moment to come is known: what came and went since the moment before is the least that explains it. */
int import_trace_live(struct import_trace *t, uint32_t stack, uint64_t n_blocks,
                      uint64_t live_bytes);
/* Sums are estimates from samples, one in so many bytes: they need not rise from one moment to the next. Told as a limit; nothing up to 1. */
void import_trace_estimates(struct import_trace *t, uint64_t sample_bytes);
/* The moment they were true. Call paths that were not named have, after import_trace_live, nothing live any more; after
 * import_trace_total, what they had. */
int import_trace_moment(struct import_trace *t, uint64_t time_ns, struct err *reterr);
uint64_t import_trace_last_ns(const struct import_trace *t); /* of what was put: events, moments */
size_t import_trace_n_moments(const struct import_trace *t);

/* ---- for import_ticks.c ------------------------------------------------------------------------ */

struct trace_maker *import_trace_maker(
        struct import_trace *t); /* process 0 and thread 0 are there */
void import_trace_count_tick(struct import_trace *t, uint64_t time_ns, uint32_t stack);

/* ---- words ------------------------------------------------------------------------------------- */

/* Shown among the notes of a report. */
void import_trace_note(struct import_trace *t, uint64_t time_ns, const char *text);
/* A limit of this file beside those of its format, a sentence without its end: "Figures are estimates of samples, one in 512.0 KiB". */
void import_trace_limit(struct import_trace *t, const char *sentence);
/* Times are multiples of so many nanoseconds: no rate is told of what took but a few of them. Of several files the longest counts. */
void import_trace_clock_step(struct import_trace *t, uint64_t step_ns);
/* The limit of a file in which so many call paths have more in use than they allocated: of a window, say. 0: none. */
void import_trace_tell_larger(struct import_trace *t, uint64_t n_paths);
/* The program's end, where the source knows it; else that of the last event. status: -1 unknown. */
void import_trace_end(struct import_trace *t, uint64_t end_ns, enum trace_ended ended,
                      int32_t status);

/* ---- for import.c ------------------------------------------------------------------------------ */

/* fd is an empty file, borrowed. */
struct import_trace *import_trace_new(int fd, size_t n_files);
void import_trace_begin_file(struct import_trace *t, const char *path);  /* borrowed */
void import_trace_choose_type(struct import_trace *t, const char *name); /* borrowed; NULL: none */
/* What limits the figures, as one note: the first sentence, and those of import_trace_limit. */
void import_trace_tell_limits(struct import_trace *t, const char *first);
/* Everything into the file, with names. */
int import_trace_finish(struct import_trace *t, struct err *reterr);
struct import_trace *import_trace_free(struct import_trace *t); /* NULL ok; returns NULL */
/* For fuzzers: what the source does not name stays without a name, and no file of this machine is asked. */
void import_trace_leave_unnamed(struct import_trace *t);
bool import_trace_asks_files(const struct import_trace *t);
uint64_t import_trace_n_events(const struct import_trace *t);
uint64_t import_trace_n_stacks(const struct import_trace *t);
