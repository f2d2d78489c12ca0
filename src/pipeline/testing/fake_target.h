/* SPDX-License-Identifier: MIT */
/* An arena and threads that write into it, for tests and benchmarks of the pipeline: times, addresses and stacks are the
 * caller's, so that every interleaving can be written down. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/pipeline.h"
#include "wire/layout.h"
#include "wire/record.h"

enum {
        FAKE_N_PROCESSES = 700,
        FAKE_N_SLOTS = 700,
        FAKE_N_CHUNKS = 2048,
        FAKE_HZ = 1000000000, /* one tick a nanosecond */
};

struct fake_target {
        struct wire_header *header;
        size_t size_bytes;
        uint64_t now;       /* the recorder's clock; 0: the CPU's counter */
        uint64_t next_jump; /* the clock goes on by this much after the next look at it */
        struct pipeline *pipeline;
        uint32_t n_slots, n_processes, next_pid;
        uint32_t dead_tid; /* is_thread_alive says no for this one */
        uint32_t n_broken, n_ended, n_cuts;
        uint64_t cut_ns, cut_live_bytes; /* of the latest cut */
        bool has_passing_cuts;           /* nobody will ask for their moments */
        struct pipeline_totals ended;    /* the latest */
};

/* A place in a thread's table of stacks. */
struct fake_token {
        uint64_t pcs[8];
        uint32_t depth; /* 0: it names nothing */
        unsigned end;
};

struct fake_thread {
        struct fake_target *target;
        struct wire_slot *slot;
        uint64_t pos;
        uint64_t pcs[64]; /* the last stack that it sent with frames, outermost first */
        uint32_t depth;
        struct fake_token *tokens; /* n_tokens of them, the caller's */
        uint32_t n_tokens;
};

void fake_target_init(struct fake_target *t, struct trace_writer *w,
                      const struct pipeline_config *extra);
void fake_target_done(struct fake_target *t);

struct wire_process *fake_process(struct fake_target *t, uint32_t idx);
struct wire_slot *fake_slot(struct fake_target *t, uint32_t no);

/* By hello; the trace process is added. Returns the entry. */
uint32_t fake_add_image(struct fake_target *t, struct trace_writer *w);
/* By fork; the recorder finds it. */
uint32_t fake_fork(struct fake_target *t, uint32_t parent_idx, uint64_t fork_time, bool is_exact);

void fake_add_thread(struct fake_target *t, struct fake_thread *thread, uint32_t process_idx,
                     uint32_t tid);

/* From now on it names stacks by tokens, as the runtime does: in n places, so that stacks take those of others. */
void fake_use_tokens(struct fake_thread *t, struct fake_token *tokens, uint32_t n);
/* n records could not be written; its tokens are void. */
void fake_lose(struct fake_thread *t, uint64_t time, uint64_t n);

/* A record: words after word 0, then a stack (innermost first, NULL: the kind has none). Pumps when the ring is full. */
void fake_put_words(struct fake_thread *t, uint64_t time, unsigned kind, const uint64_t *words,
                    size_t n);
void fake_put_stack(struct fake_thread *t, uint64_t time, unsigned kind, const uint64_t *words,
                    size_t n, const uint64_t *pcs, uint32_t depth, unsigned end);

/* The usual ones; site: a number that becomes a stack of two frames. */
void fake_alloc(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                uint64_t site);
void fake_free(struct fake_thread *t, uint64_t time, uint64_t address);
void fake_realloc_begin(struct fake_thread *t, uint64_t time, uint64_t address);
void fake_realloc_end(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                      enum wire_realloc result, uint64_t site);

/* Lets a second pass and pumps until nothing is left. */
void fake_settle(struct fake_target *t);
