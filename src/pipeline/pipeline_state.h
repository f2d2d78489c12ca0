/* SPDX-License-Identifier: MIT */
/* What the files behind pipeline.h share: the pipeline itself, and the steps from one file to the next. */
#pragma once

#include "ledger/site_figures.h"
#include "pipeline/drain.h"
#include "pipeline/intern.h"
#include "pipeline/order.h"
#include "pipeline/pairing.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_process.h"

/* What a child will start with: taken at its parent's FORK record, waiting for the child to appear. */
struct snapshot {
        uint32_t parent_idx,
                parent;   /* entry of the arena, process of the trace; it may have ended since */
        uint64_t time;    /* of the FORK record */
        uint64_t done_ns; /* the parent came back from fork then; 0: not yet */
        struct live_layer *layer;
        struct pools pools;
        struct heaps *heaps; /* NULL: none */
        struct intern_space *space;
        uint32_t loader_number;  /* the parent's */
        struct figures *figures; /* the parent's, which stay */
        inherited_vec inherited;
};

struct pipeline {
        struct pipeline_config config;
        struct wire_header *header;
        struct wire_process *shared_processes;
        uint32_t n_processes; /* entries of the arena */
        uint64_t clock_base;
        uint32_t clock;
        uint64_t ns_mult; /* ns = ticks * ns_mult >> 32 */
        uint64_t ticks_per_s;

        struct drain drain;
        struct order order;
        struct intern intern;
        struct sites sites;
        struct pair pair;

        struct process **processes; /* by entry of the arena */
        uint32_t n_processes_used;
        VEC(struct process *) active; /* of them, in order of appearance */
        VEC(struct snapshot) snapshots;
        uint32_t n_unstarted;
        uint32_t n_heritage_slices; /* that ended because a process with heirs did */

        uint64_t now;        /* time of the last look at the slots */
        uint64_t final_time; /* everything before it is in order and written */
        uint64_t
                cut_time; /* events behind it wait until those before it are in; UINT64_MAX: no cut */
        uint64_t leave_time; /* of wire_header; UINT64_MAX: silt stays */
        uint64_t n_records, n_forced, n_marks, n_fails;
        uint64_t pump_no;
        uint64_t n_orphans;        /* events that were lost, of a process that is not there */
        uint64_t n_unslotted_told; /* and those without a slot: counted as the main process's */
        bool is_finishing;         /* what is drained is all: nobody is waited for */
};

static inline uint64_t pipeline_time_ns(const struct pipeline *p, uint64_t time) {
        uint64_t ticks = time > p->config.start_time ? time - p->config.start_time : 0;

        return (uint64_t)((unsigned __int128)ticks * p->ns_mult >> 32);
}

/* The recorder's clock, in ticks as records have it. */
uint64_t pipeline_now(const struct pipeline *p);

/* decode.c: takes the records of s (settled) up to and including end_time. False: nothing is left of it. */
bool decode_run(struct pipeline *p, struct slot *s, uint64_t end_time);

/* Passes over padding and learns the time of the next record. False: there is none, or the slot broke the rules. */
bool decode_settle(struct pipeline *p, struct slot *s);

/* What the stack word of a record tells; valid until the next. NULL: the slot is broken. */
struct slot_token *decode_stack(struct pipeline *p, struct slot *s, const uint64_t *word);
uint32_t decode_site(struct pipeline *p, struct slot *s, struct slot_token *t);

void decode_count_share(struct process *process, unsigned allocator, uint64_t size_bytes,
                        uint64_t n_blocks);

/* What allocators inside the program are asked for; the rest is the loader's. */
static inline void decode_share(struct process *process, unsigned allocator, uint64_t size_bytes) {
        if (unlikely(allocator != 0))
                decode_count_share(process, allocator, size_bytes, 1);
}

/* quick.c: takes plain allocations and releases of s, which has a process, up to end_time, the chunk's end or anything
 * else. Only where pair_is_plain. */
void quick_run(struct pipeline *p, struct slot *s, uint64_t end_time);

/* The trace's thread of this number, which is new if nobody asked before. */
uint32_t decode_find_thread(struct pipeline *p, struct process *process, uint32_t tid,
                            uint64_t time_ns);

/* Ends the slice when it is nearly full. */
void pipeline_check_slice(struct pipeline *p);

/* The last look at a process's pages counts, unless another image's were seen; what is known goes into the trace. */
void pipeline_settle_look(struct pipeline *p, struct process *process, bool is_valid);

/* Counts what the slot lost without saying so itself. */
void decode_count_lost(struct pipeline *p, struct slot *s);

/* Events without a slot that are not yet counted. */
uint64_t pipeline_n_unslotted(const struct pipeline *p);

/* bulk.c: records that say something of many blocks, or of one block that others will. */
void bulk_free_range(struct pipeline *p, struct slot *s, const uint64_t *words, uint64_t time_ns);
void bulk_heap(struct pipeline *p, struct slot *s, const uint64_t *words, uint64_t time_ns);
void bulk_pool_alloc(struct pipeline *p, struct process *process, uint64_t address);
void bulk_expect_heap(struct pipeline *p, struct process *process);
uint32_t bulk_open_heap(struct process *process, uint64_t id); /* its number (heaps.h) */

/* forks.c */
struct process *forks_add_process(struct pipeline *p, uint32_t idx, uint32_t pid);
void forks_scan(struct pipeline *p); /* new entries of the arena */
struct process *forks_find(struct pipeline *p,
                           uint32_t idx); /* looks at the entry when it must; NULL: none */
void forks_start(struct pipeline *p, struct process *child); /* gives it what it inherited */
void forks_start_due(struct pipeline *p);                    /* those whose fork is in order */
void forks_take_snapshot(struct pipeline *p, struct process *parent, uint64_t time);
void forks_done(struct pipeline *p, struct process *parent, uint64_t time_ns);
void forks_expire(struct pipeline *p);
void forks_set_end_time(const struct pipeline *p, struct process *process);
struct process *forks_first_over(struct pipeline *p); /* the one to end next; NULL: none */
void forks_start_children(struct pipeline *p, const struct process *parent); /* before it ends */
void forks_end_process(struct pipeline *p, struct process *process);
void forks_free_all(struct pipeline *p);
