/* SPDX-License-Identifier: MIT */
/* For tests: a small recorder without a program. Makes a trace of random events. Its rows, peaks and checkpoints are the
 * recorder's own (by_maker), or those of a plain, slow computation that shares nothing with it: every live block of every
 * process is kept in a list.
 *
 *   fabric_new(path, seed) → fabric_run(f, n_events) → fabric_end(f) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric;

enum {
        FABRIC_IN_PLACE = 3
}; /* one realloc in so many leaves its block where it is, by its number */
struct trace_writer;

struct fabric_options {
        uint64_t seed;
        unsigned n_stacks;         /* different ones */
        unsigned slice_events;     /* about as many a slice */
        unsigned max_processes;    /* 1: no forks */
        unsigned max_threads;      /* a process */
        unsigned checkpoint_every; /* slices; 0: none */
        unsigned max_step_us;      /* between two events */
        uint64_t slice_us;         /* a slice that fabric_wait() ends; 0: 250 ms */
        uint64_t sample_bytes;     /* sampled: each block stands for itself alone; 0: exact */
        bool by_maker; /* ledger/trace_maker.h writes it, so passes_on; checkpoints are its choice.
                          * Not with: sample_bytes, without_moves, deletes of a wrong size */
        bool with_names; /* of functions, files, modules and threads */
        bool passes_on; /* blocks of a process that is over count in its heirs; else as an older silt wrote it */
        bool without_moves; /* as an older silt wrote it */
        bool with_paths; /* names as call paths have them: recursion, allocators, inlined functions */
};

struct fabric *fabric_new(const char *path, const struct fabric_options *o);
void fabric_run(struct fabric *f, unsigned n_events);
void fabric_end(struct fabric *f); /* writes the rest and frees */

/* By hand: frames with names, blocks, time. Strings must outlive the fabric; threads count from
 * 0 in each process. */
struct trace_writer *fabric_writer(struct fabric *f);
uint32_t fabric_frame(struct fabric *f, uint32_t caller, const char *module, const char *function,
                      const char *file, uint32_t line); /* function NULL: no names */
void fabric_guess(struct fabric *f); /* the name of the last frame is only the nearest symbol */
uint32_t fabric_thread(struct fabric *f, uint32_t process, const char *name);
uint32_t fabric_fork(struct fabric *f, uint32_t parent);
void fabric_exit(struct fabric *f, uint32_t process);
uint64_t fabric_alloc(struct fabric *f, uint32_t process, uint32_t thread, uint32_t stack,
                      uint64_t size_bytes);
void fabric_free(struct fabric *f, uint32_t process, uint32_t thread, uint64_t seq);
/* The same by a delete that gives another size; free_stack 0: nobody knows where. */
void fabric_delete_wrongly(struct fabric *f, uint32_t process, uint32_t thread, uint64_t seq,
                           uint64_t given_bytes, uint32_t free_stack);
void fabric_wait(struct fabric *f, uint64_t us); /* ends slices on the way */
uint64_t fabric_now_ns(const struct fabric *f);
