/* SPDX-License-Identifier: MIT */
/* A process image as the pipeline knows it: one entry of the arena from its first sight until all its
 * events are through. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "ledger/live.h"
#include "pipeline/pools.h"
#include "pipeline/tally.h"

struct figures;
struct heaps;
struct intern_space;
struct released;
struct residency;

/* Its number is free: who has it next is another thread. */
#define PROCESS_THREAD_IS_OVER (1ull << 32)

/* What one allocator was asked for. */
struct process_share {
        uint64_t n_allocs, alloc_bytes;
};

struct process {
        uint32_t idx; /* of the arena */
        uint32_t pid;
        uint32_t parent_idx; /* UINT32_MAX: none, or unknown */
        uint64_t fork_time;  /* came by hello: when it was added */
        bool fork_is_exact;  /* fork_time names a FORK record of the parent */
        bool is_started;   /* false: seen, but its parent's events have not reached fork_time yet */
        uint64_t pump_no;  /* of the pump in which it was first seen */
        uint32_t n_waits;  /* rounds, for the ends of others */
        uint64_t cut_time; /* it was alive then, whatever it says of its end; 0: nobody looked */
        uint64_t gone_time; /* seen to be gone, and how it ended is still to be told; 0: not */
        bool is_ending;     /* gone: no new slots, what is published is all */
        uint64_t end_ns;
        uint64_t end_time; /* the same, in the time of records */
        bool end_is_told; /* end_time is its own word: it does not end before all until then is decoded */
        bool end_was_due; /* all before end_time was decoded once */

        /* from start on */
        uint32_t trace_id;
        struct figures *figures;
        struct live live;
        struct pools pools;
        struct heaps *heaps; /* that can be released whole; NULL: none was used yet */
        struct intern_space *space;
        struct residency *residency; /* NULL: no large block yet */
        struct released *released;   /* NULL: nobody looks at its pages */
        struct map threads;          /* tid → trace thread, maybe PROCESS_THREAD_IS_OVER */
        uint32_t n_threads;
        uint32_t n_slots;      /* that it holds now */
        uint32_t n_scans_left; /* looks at all slots before its end is believed */
        uint64_t blocked_ns;
        struct process_share
                *shares;    /* by number of the allocator; NULL: nothing but the loader's */
        struct tally tally; /* sampled: of threads that are gone */
        struct trace_tally tally_told;
        uint32_t loader_number; /* what number 0 stands for; 0: nobody said */
        bool ends_in_exec;      /* the last record of a thread that is gone */
};
