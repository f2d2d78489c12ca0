/* SPDX-License-Identifier: MIT */
/* The memory shared by the recorder and every process of a recording ("the arena").
 * docs/ring-protocol.md is the specification; both sides compile this file.
 *
 *   [ wire_header ][ wire_process × n_processes ][ wire_slot × n_slots ][ chunk × n_chunks ]
 *
 * The recorder makes, sizes, seals and allocates it; targets map it once. Every field names its
 * writer. The recorder trusts nothing a target can write: it copies, checks the copy, uses the copy.
 *
 * A *slot* is one thread's ring. Its pages are chunks lent by the recorder: logical byte `pos` of a
 * ring lies in chunk `lent[(pos / WIRE_CHUNK_BYTES) % WIRE_N_LENT]` at offset `pos % WIRE_CHUNK_BYTES`. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define WIRE_MAGIC 0x314552495754534cull /* "LSTWIRE1" */
#define WIRE_VERSION 8u

#ifndef SILT_TINY
#define SILT_TINY 0
#endif

enum {
        WIRE_CHUNK_BYTES = SILT_TINY ? 4096 : 16384,
        WIRE_N_LENT = SILT_TINY ? 2 : 64,
        WIRE_PAGE_BYTES = 4096, /* what n_ring_pages counts in */
        WIRE_N_PROCESSES = 2048,
        WIRE_N_SLOTS = 4096,
        WIRE_N_CHUNKS = SILT_TINY ? 12288 : 3072, /* 48 MiB of address space; memory only as lent */
};

/* How long a thread waits at most, and all of them in a run; a wait of less than the last is back-pressure, not silence. */
enum { WIRE_WAIT_MAX_MS = 1000, WIRE_PATIENCE_MAX_MS = 5000, WIRE_PUSHBACK_MAX_MS = 100 };

enum wire_clock {
        WIRE_CLOCK_COUNTER = 0, /* cntvct_el0 or rdtsc */
        WIRE_CLOCK_MONOTONIC =
                1, /* clock_gettime by system call: emulators, machines without a steady counter */
};

enum wire_flags {
        WIRE_LOSSY = 1u << 0,       /* never wait for room */
        WIRE_FREE_STACKS = 1u << 1, /* releases carry stacks too */
        WIRE_SAMPLED = 1u << 2,   /* one allocation in sample_bytes is recorded: docs/sampling.md */
        WIRE_LAST_LOOK = 1u << 3, /* who ends by exit() waits until the recorder has looked at it */
        WIRE_FAILS = 1u << 4,     /* chosen allocations fail: docs/lab.md */
};

/* What all threads of all processes may still wait for the recorder together. Waits that overlap are one. */
struct wire_patience {
        _Atomic uint64_t left_ns;
        _Atomic uint64_t charged_until; /* counter: waits up to here have been taken off */
};

/* Which allocations fail, of each image from the program's first instruction on. */
struct wire_fails {
        uint64_t nth;         /* the one of this number, from 1; 0: none */
        uint64_t above_bytes; /* all that want more; UINT64_MAX: none */
        uint64_t rate;        /* of 2^32, drawn for each number from the seed; 0: none */
        uint64_t seed;
        uint32_t pid; /* of this process alone; 0: of all */
        uint32_t reserved;
};

struct wire_header {
        /* written by the recorder before any target maps the arena, constant from then on */
        uint64_t magic;
        uint32_t version;
        uint32_t chunk_bytes, n_lent, n_processes, n_slots, n_chunks;
        uint64_t process_off, slot_off, chunk_off,
                size_bytes;      /* of the arrays, from the start of the arena */
        uint64_t clock_base;     /* subtracted from every counter reading, so that 56 bits last */
        uint32_t clock;          /* enum wire_clock */
        uint32_t flags;          /* enum wire_flags */
        uint64_t sample_seed;    /* WIRE_SAMPLED: what the threads' random numbers begin with */
        struct wire_fails fails; /* WIRE_FAILS; the pid is written before the target runs */

        /* written by the recorder (or the supervisor when the recorder died) */
        _Alignas(128) _Atomic uint32_t
                recording; /* 1: record. 0: pass through for ever; the recorder is gone or done */
        _Atomic uint32_t
                asleep; /* 1 while the recorder waits on `wake`; cleared by whoever wakes it */
        _Atomic uint64_t sample_bytes; /* WIRE_SAMPLED: mean distance of samples; may change */
        _Atomic uint64_t
                leave_ts; /* when silt, attached, began to take its entries out; what comes later is not told. 0: not yet */

        /* written by targets */
        _Alignas(128) _Atomic uint32_t wake; /* futex; bumped when the recorder should look */
        _Atomic uint32_t
                n_slots_used; /* slots with a higher index were never claimed; only grows */
        _Atomic uint32_t n_processes_used;   /* the same for process entries */
        _Atomic uint64_t n_unslotted_events; /* lost because no slot or entry was free */
        struct wire_patience patience;       /* begins with all of it, set by the recorder */
};

/* Where a frame of a stack goes on, and its stack pointer then. */
struct wire_frame {
        uint64_t pc, sp;
};
enum { WIRE_N_EXIT_FRAMES = 12 };

/* Memory of the runtime's own, in the process; a table of WIRE_N_RANGES, begin 0: an empty row. */
struct wire_range {
        _Atomic uint64_t begin;
        uint64_t size_bytes;
};
enum { WIRE_N_RANGES = 3072 };

/* What the runtime keeps in the process for whoever reads its memory (WIRE_LAST_LOOK, graphs). */
struct wire_own {
        struct wire_frame exit_frames
                [WIRE_N_EXIT_FRAMES]; /* from where exit_tid came to its end, innermost first; pc 0: none */
        struct wire_range ranges[WIRE_N_RANGES];
};

/* A process image: made by the recorder when it answers a hello, claimed by the process itself after fork. */
struct wire_process {
        /* 0: free. Else phase | pid << 8. Claimed by compare-and-swap from 0; only the recorder sets it back to 0. */
        _Alignas(128) _Atomic uint64_t state;
        uint32_t
                parent_idx; /* entry of the process that forked; UINT32_MAX when it came by hello */
        uint32_t flags;     /* enum wire_process_flags */
        uint64_t fork_ts;  /* time of the parent's FORK record, or of its last record (raw clone) */
        uint64_t start_ts; /* when this image began to record */
        _Atomic uint32_t n_threads_started; /* beyond the first, whether they allocate or not */
        _Atomic uint32_t n_ring_pages;      /* of 4 KiB, in chunks this process has written to */
        _Atomic uint64_t runtime_bytes; /* private memory of the runtime, as far as it is touched */
        _Atomic uint64_t
                n_early_events; /* allocations served before the runtime could record them with a stack */
        _Atomic uint32_t n_patched,
                n_unpatched; /* entries of plans: written; found other than planned */
        _Atomic uint32_t
                n_unsampled; /* samples not recorded: the table of sampled blocks was full */
        _Atomic uint32_t unfollowed; /* enum wire_unfollowed */
        _Atomic uint64_t
                exit_ts; /* when exit() came to the runtime; 0: it has not, or the process ends otherwise */
        _Atomic uint32_t last_look; /* futex; enum wire_last_look. Before it is awaited: */
        uint32_t exit_tid;          /* the thread that waits */
        uint64_t own_addr;          /* where the process has its struct wire_own */
};

/* WIRE_LAST_LOOK: the process says that it waits, the recorder that it may go. */
enum wire_last_look { WIRE_LOOK_NONE = 0, WIRE_LOOK_AWAITED = 1, WIRE_LOOK_DONE = 2 };

/* What a process did that is not followed: the first two by a recording of samples. */
enum wire_unfollowed {
        WIRE_UNFOLLOWED_POOLS = 1u << 0, /* it told of pools */
        WIRE_UNFOLLOWED_HEAPS = 1u << 1, /* it released a heap whole */
        WIRE_UNFOLLOWED_OPENED =
                1u << 2, /* it opened libraries that nobody looked at for allocators */
        WIRE_UNFOLLOWED_NAMESPACE = 1u << 3, /* or with a C library of their own (dlmopen) */
        WIRE_UNFOLLOWED_CHILDREN =
                1u << 4, /* a child that cannot tell ran a program that is not seen */
        WIRE_UNFOLLOWED_CACHES =
                1u
                << 5, /* it released an arena whole, and blocks that may be of it or of another */
};

enum wire_process_phase { WIRE_PROCESS_FREE = 0, WIRE_PROCESS_CLAIMED = 1, WIRE_PROCESS_LIVE = 2 };
enum wire_process_flags {
        WIRE_PROCESS_FORK_EXACT = 1u << 0, /* fork_ts names a FORK record of the parent */
};

/* What a thread did, sampled or not (WIRE_SAMPLED): sums since its slot was claimed. The bytes it allocated follow from
 * what its blocks were charged (sample_draw.h): a thread that is killed leaves them right at any moment. */
struct wire_tally {
        _Atomic uint64_t n_allocs;
        /* signed; the charge less sample_at: a block that makes it 0 or more is chosen */
        _Atomic uint64_t due_bytes;
        _Atomic uint64_t n_frees, n_reallocs;
        /* two while the next is drawn: next_at holds once due_bytes is negative */
        _Atomic uint64_t sample_at, next_at;
};

/* The same, of signal handlers that interrupted the runtime. */
struct wire_nested_tally {
        _Atomic uint64_t n_allocs, alloc_bytes, n_frees, n_reallocs;
};

struct wire_slot {
        /* 0: free. Else phase | (process index + 1) << 8 | generation << 40 (bumped by the recorder at each reuse).
         * Claimed by compare-and-swap of the free value; set free by the recorder once the thread is gone and drained. */
        _Alignas(128) _Atomic uint64_t state;
        uint32_t tid;
        uint32_t flags; /* enum wire_slot_flags */

        /* written by the thread */
        _Alignas(128) _Atomic uint64_t
                write_pos;     /* bytes ever published; release, pairs with ring_reader's acquire */
        _Atomic uint32_t busy; /* 1 from before the clock is read until the record is published */
        _Atomic uint32_t waiting; /* 1 while the thread waits for room */
        _Atomic uint64_t n_lost_events;
        _Atomic uint64_t blocked_ns;
        struct wire_tally tally; /* plain stores; set back by the recorder while the slot is free */
        struct wire_nested_tally nested_tally; /* atomic additions */
        _Atomic uint64_t n_samples,
                sample_ticks; /* allocations that were sampled, and the time it took */

        /* written by the recorder */
        _Alignas(128) _Atomic uint64_t
                limit_pos;         /* bytes ever lent; release, pairs with ring_writer's acquire */
        _Atomic uint32_t lent_seq; /* futex; bumped with limit_pos */
        uint32_t reserved;
        _Atomic uint32_t lent[WIRE_N_LENT]; /* chunk indexes */
};

enum wire_slot_phase {
        WIRE_SLOT_FREE = 0,
        WIRE_SLOT_CLAIMED = 1, /* fields being filled */
        WIRE_SLOT_LIVE = 2,
        WIRE_SLOT_EXITING = 3, /* the thread said it ends; records may still follow */
};
enum wire_slot_flags {
        WIRE_SLOT_NESTED =
                1u << 0, /* second ring of the thread, for signals that arrive inside the runtime */
};

static inline uint32_t wire_slot_phase(uint64_t state) {
        return (uint32_t)state & 0xff;
}

static inline uint32_t wire_slot_process(uint64_t state) {
        return ((uint32_t)(state >> 8) & 0xffffffff) - 1;
}

_Static_assert(sizeof(struct wire_header) == 384, "both sides must agree on the layout");
_Static_assert(sizeof(struct wire_process) == 128, "both sides must agree on the layout");
_Static_assert(SILT_TINY || sizeof(struct wire_slot) == 640, "both sides must agree on the layout");
