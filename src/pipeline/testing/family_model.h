/* SPDX-License-Identifier: MIT */
/* What a family of processes does to its memory, added up as plainly as can be: what the pipeline's random tests hold it against. */
#pragma once

#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"

enum { N_ADDRESSES = 80, N_SITES = 7, N_THREADS = 3, MAX_PROCESSES = 24 };

struct model_block {
        uint64_t size_bytes, seq; /* size 0: not live */
        uint32_t site, owner, thread;
};

struct model_thread {
        struct fake_thread fake;
        struct fake_token tokens[64];
        bool is_open; /* has a slot */
        uint32_t tid; /* no other ever has it */
        uint64_t last_seq;
        bool has_latest; /* an allocation that has not replaced a block yet */
        uint32_t latest_site;
        uint64_t latest_bytes;
        uint32_t moving; /* realloc under way: address + 1 */
        uint64_t last_time;
};

struct model_process {
        bool is_alive, is_reserved[N_ADDRESSES];
        uint32_t idx;
        struct model_block blocks[N_ADDRESSES];
        struct model_thread threads[N_THREADS];
        struct trace_counts counts;
        struct trace_site sites[N_SITES];
        struct trace_move moves[N_SITES];
        int64_t own[N_SITES]; /* bytes; what it adopted counts */
        int64_t adopted[N_SITES];
        uint32_t parent; /* UINT32_MAX: none */
        uint64_t at_peak[N_SITES];
};

struct model {
        struct trace_writer *w;
        struct fake_target t;
        struct model_process p[MAX_PROCESSES]; /* by trace id */
        uint32_t n_processes;
        uint64_t time, n_seqs;
        uint64_t stride_bytes; /* from one address to the next */
        uint32_t n_tokens;     /* places that threads have; 0: they give none */
        uint32_t n_tids;
        uint32_t jitter; /* clocks are read up to this much early */
        int64_t all_live, all_peak;
        int64_t at_all_peak[MAX_PROCESSES][N_SITES];
        size_t end_slice[MAX_PROCESSES]; /* the slice a process ended in; SIZE_MAX: lives */
};

void model_peak(struct model *m, struct model_process *p);
void model_alloc(struct model *m, struct model_process *p, struct model_thread *t, uint32_t address,
                 uint64_t size_bytes, uint32_t site);
void model_free(struct model *m, struct model_process *p, struct model_thread *t, uint32_t address);
void model_grow(struct trace_move *x, uint64_t old_bytes, uint64_t new_bytes);
/* Before a block is released; is_free: not by a realloc that makes another one. */
void model_move(struct model *m, struct model_process *p, struct model_thread *t, uint32_t address,
                bool is_free);
void model_end(struct model *m, struct model_process *p);
