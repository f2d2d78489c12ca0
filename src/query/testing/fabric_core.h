/* SPDX-License-Identifier: MIT */
/* What the files of the fabric share. For tests only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

struct live_block {
        uint64_t seq, size_bytes, time_ns;
        uint64_t address;       /* by_maker: its identity; else 0 */
        uint32_t stack, thread; /* thread that allocated it */
        bool inherited;
};

struct fabric_thread {
        uint32_t id;
        uint64_t last_seq; /* of its latest allocation, plus 1 */
        bool has_latest;   /* which has not replaced a block yet */
        uint32_t latest_stack;
        uint64_t latest_bytes;
};

struct fabric_site {
        struct trace_site slice, total;
        struct trace_move moves;
        int64_t now_bytes, now_blocks;         /* since the slice began, inherited counted */
        int64_t adopted_bytes, adopted_blocks; /* now: inherited, and counted here */
        int64_t own_bytes,
                own_blocks; /* since the slice began, own blocks, gone with their process */
};

struct fabric_process {
        uint32_t id, pid, image;
        bool is_over, has_adopted;
        uint32_t heir_of; /* whose blocks it inherited, plus 1; 0: nobody's */
        VEC(struct fabric_thread) threads;
        VEC(struct live_block) live;
        struct trace_counts slice, total;
        bool is_touched;
        uint64_t live_bytes;
};

struct fabric {
        struct fabric_options o;
        struct trace_writer *w;
        struct trace_maker *maker;    /* NULL: the books are the fabric's own */
        uint64_t n_seqs, n_addresses; /* handed out to it */
        uint64_t random, time_ns;
        uint32_t next_pid;
        uint32_t stacks[256];
        VEC(struct fabric_process) processes;
        VEC(struct trace_symbol) symbols; /* of frames made by hand */
        VEC(const char *) module_paths;   /* likewise, by id */
        char *path;
        struct map index; /* process << 32 | stack → site */
        VEC(struct fabric_site) sites;
        struct trace_counts all; /* state and peak of the slice, of all processes */
        uint64_t all_bytes, all_blocks;
        bool has_two; /* more than one process so far */
        unsigned n_slices, n_slice_events;
};

uint64_t fabric_draw(struct fabric *f, uint64_t below);
struct fabric_site *fabric_site_at(struct fabric *f, uint32_t process, uint32_t stack);
void fabric_note_peak(struct fabric *f, struct fabric_process *p); /* after every change */
void fabric_touch(struct fabric_process *p);                       /* before every change */
void fabric_end_slice(struct fabric *f);
void fabric_count_alloc(struct fabric *f, struct fabric_process *p, uint32_t stack,
                        uint64_t size_bytes);
/* Takes the block out of the books, and out of the list. */
void fabric_count_release(struct fabric *f, struct fabric_process *p, struct live_block *b,
                          bool is_temporary);
/* Moves; the block is still in the list. */
void fabric_move_alloc(struct fabric_thread *t, uint32_t stack, uint64_t size_bytes);
void fabric_move_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                      const struct live_block *b);
void fabric_move_realloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         const struct live_block *old, const struct live_block *b);
void fabric_put_moves(struct fabric *f);
uint32_t fabric_add_process(struct fabric *f, uint32_t pid, uint32_t parent, uint32_t image,
                            bool inherits);
void fabric_end_process(struct fabric *f, struct fabric_process *p, enum trace_ended ended);
/* Blocks that outlive their process: option passes_on. */
bool fabric_has_heirs(const struct fabric *f, uint32_t process);
void fabric_pass_on(struct fabric *f, uint32_t process);
void fabric_heir_release(struct fabric *f, uint32_t process, uint32_t stack, uint64_t size_bytes);
void fabric_add_named_stacks(struct fabric *f);

/* Definitions and events, whoever keeps the books. */
uint32_t fabric_add_module(struct fabric *f, const struct trace_module *module);
uint32_t fabric_add_location(struct fabric *f, const struct trace_location *location);
uint32_t fabric_add_stack(struct fabric *f, uint32_t parent, uint32_t location);
struct fabric_thread *fabric_add_thread(struct fabric *f, struct fabric_process *p,
                                        const char *name); /* NULL: none */
uint64_t fabric_put_alloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                          uint32_t stack, uint64_t size_bytes);
void fabric_put_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                     struct live_block *b, uint32_t free_stack);

/* by_maker: fabric_maker.c. */
void fabric_made_new(struct fabric *f);
void fabric_made_end(struct fabric *f);
void fabric_made_end_slice(struct fabric *f);
uint32_t fabric_made_begin(struct fabric *f, const struct trace_process *start, bool inherits);
void fabric_made_end_process(struct fabric *f, const struct trace_process_end *end);
uint64_t fabric_made_alloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                           uint32_t stack, uint64_t size_bytes);
void fabric_made_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                      struct live_block *b, uint32_t free_stack);
void fabric_made_realloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         struct live_block *old, uint32_t stack, uint64_t size_bytes);
/* An allocation where a block is live. */
void fabric_made_replace(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         struct live_block *old, uint32_t stack, uint64_t size_bytes);
void fabric_made_other(struct fabric *f, struct fabric_thread *t, enum trace_other other);
