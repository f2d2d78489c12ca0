/* SPDX-License-Identifier: MIT */
/* The nouns of a trace, shared by its writer, its reader and everyone who asks it.
 *
 *   module     a file of code mapped into a process: path, build-id, size
 *   location   (module, offset): where a program counter points, whatever the load address
 *   stack      a node (parent stack, location); id 0 is the empty stack. Innermost frame = the node itself
 *   process    one image of one pid; exec starts a new one
 *   thread     of one process
 *   site       (process, stack) that allocated
 *   slice      a stretch of time: its events, then what they did to each site and process
 *   checkpoint every site's figures since the start of the recording, at the end of a slice
 *
 * Times are nanoseconds since the start of the recording. Ids count from 0 in order of
 * definition. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_room.h"

/* Apart from the others: since gcc 13 all of an enum are unsigned where one of them has to be. */
enum { TRACE_NO_THREAD = 0xffffffff, TRACE_NO_PROCESS = 0xffffffff };
enum {
        TRACE_MAX_SLICE_EVENTS = 262144,
        /* bucket b of lifetimes: [4^b, 4^(b+1)) microseconds; 0 also holds less, 11 also more */
        TRACE_N_LIFE_BUCKETS = 12,
        TRACE_LARGE_BLOCK_BYTES = 65536, /* whose pages are looked at */
};

struct trace_meta {
        uint32_t pid;     /* of the first process */
        uint32_t machine; /* ELF e_machine */
        uint32_t page_bytes;
        uint64_t started_unix_ns;
        uint64_t sample_bytes; /* 0: exact; else the mean distance of samples it began with */
        uint32_t flags;        /* enum trace_flags */
        uint32_t unit;         /* enum trace_unit */
        const char *silt_version, *host, *cwd;
        uint32_t n_args;
        const char *const *args; /* the command */
};

enum trace_flags {
        TRACE_HAS_ADDRESSES = 1u << 0,
        TRACE_HAS_FREE_STACKS = 1u << 1,
        TRACE_IS_SAMPLED = 1u << 2, /* blocks stand for several: docs/sampling.md */
        TRACE_IS_TOTALS = 1u << 3,  /* no events ever: sums at certain moments (docs/ledger.md) */
        /* What the source does not know. Without times the n-th moment of totals, else the n-th event, is at n seconds, which are no
         * time: views number them. All others are of totals only. Without numbers of blocks those in the file mean nothing: no view
         * tells them. */
        TRACE_LACKS_TIME = 1u << 4,
        TRACE_LACKS_BLOCKS = 1u << 5,
        /* Only what was live at the moments is known: what the file has allocated and freed is the least that explains it. */
        TRACE_LACKS_TRAFFIC = 1u << 6,
        TRACE_LACKS_PEAK = 1u << 7, /* one moment, and not that of the peak */
        /* Only what was allocated is known: the file has nothing freed, and what it has live means nothing. Goes with
         * TRACE_LACKS_PEAK. */
        TRACE_LACKS_LIVE = 1u << 8,
        TRACE_LACKS_ANY = TRACE_LACKS_TIME | TRACE_LACKS_BLOCKS | TRACE_LACKS_TRAFFIC |
                          TRACE_LACKS_PEAK | TRACE_LACKS_LIVE,
        /* Of another unit than bytes: numbers of allocations are those of the samples that the figures are made of. */
        TRACE_COUNTS_SAMPLES = 1u << 9,
};

/* Of EVTS: what its columns depend on. */
#define TRACE_EVENT_FLAGS                                                                          \
        ((uint32_t)(TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS | TRACE_IS_SAMPLED))

/* What stands where bytes stand, in all figures of the trace. Another one than bytes only with TRACE_LACKS_BLOCKS. Numbers stand in
 * files. */
enum trace_unit {
        TRACE_UNIT_BYTES = 0,
        TRACE_UNIT_SAMPLES = 1, /* of a CPU profile */
        TRACE_UNIT_NS = 2,      /* of CPU time, or of waiting */
        TRACE_UNIT_OTHER = 3,   /* nobody knows of what */
        TRACE_N_UNITS,
};

/* Of META, for reader and verifier. */
static inline bool trace_flags_are_valid(uint32_t flags, uint32_t unit) {
        if (flags & TRACE_LACKS_LIVE &&
            (flags & (TRACE_LACKS_PEAK | TRACE_LACKS_TRAFFIC)) != TRACE_LACKS_PEAK)
                return false;
        if (flags & TRACE_IS_TOTALS)
                return !(flags &
                         ~(uint32_t)(TRACE_IS_TOTALS | TRACE_LACKS_ANY | TRACE_COUNTS_SAMPLES)) &&
                       unit < TRACE_N_UNITS &&
                       (unit != TRACE_UNIT_BYTES || !(flags & TRACE_COUNTS_SAMPLES)) &&
                       (unit == TRACE_UNIT_BYTES || flags & TRACE_LACKS_BLOCKS);
        return !(flags & ~(TRACE_EVENT_FLAGS | TRACE_LACKS_TIME)) && unit == TRACE_UNIT_BYTES;
}

struct trace_module {
        const char *path; /* "" unknown; "[vdso]" */
        uint8_t build_id[32];
        uint32_t build_id_len; /* 0: none */
        uint64_t size_bytes;   /* extent of its mapping */
};

struct trace_location {
        uint32_t module; /* UINT32_MAX: in no known module, offset is the raw address */
        uint64_t offset; /* from the load bias: the file's virtual address of the RETURN address */
};

struct trace_stack {
        uint32_t parent; /* the caller's stack; 0 = none */
        uint32_t location;
};

struct trace_process {
        uint32_t pid, parent; /* parent: process id of the trace, TRACE_NO_PROCESS for the first */
        uint32_t image;       /* 1, 2, … per pid */
        uint64_t start_ns;
        uint32_t n_args;
        const char *const *args;
        const char *exe;
};

enum trace_ended {
        TRACE_ENDED_UNKNOWN = 0, /* the file stops without saying */
        TRACE_ENDED_EXIT = 1,
        TRACE_ENDED_SIGNAL = 2,
        TRACE_ENDED_OOM = 3,
        TRACE_ENDED_STOPPED = 4, /* recording stopped, the program ran on */
        TRACE_ENDED_EXEC = 5,    /* replaced by the next image */
};

struct trace_process_end {
        uint32_t process;
        uint32_t ended; /* enum trace_ended */
        int32_t status; /* exit status or signal number; -1 unknown */
        uint64_t end_ns;
        uint64_t peak_rss_bytes; /* without the runtime's own memory; 0 unknown */
        uint64_t runtime_bytes;  /* peak memory of silt inside the process */
        uint64_t blocked_ns;     /* time its threads waited for room in their rings */
        uint32_t n_threads;      /* all that ever ran */
};

struct trace_thread {
        uint32_t process, tid;
        uint64_t start_ns;
};

/* Events. A release names its allocation by sequence number: allocations count from 0 over the
 * whole trace. */
enum trace_op {
        TRACE_ALLOC = 0,
        TRACE_FREE = 1,
        TRACE_REALLOC = 2, /* one release and one allocation at the same moment */
        TRACE_OTHER = 3,   /* see enum trace_other */
};

enum trace_other {
        TRACE_IMPLICIT_FREE = 0, /* a release nobody saw: the address was handed out again */
        TRACE_UNKNOWN_FREE = 1,
        TRACE_PRIOR_FREE = 2,
        TRACE_FAILED = 3,     /* an allocation that returned no block; value = size */
        TRACE_LOST = 4,       /* value = number of records lost here */
        TRACE_WRONG_SIZE = 5, /* the release just before gave a wrong size; value = that size */
        TRACE_UNSAMPLED =
                6, /* sampled: the thread has allocated blocks that are not in the trace */
};

struct trace_event {
        uint8_t op;    /* enum trace_op */
        uint8_t other; /* enum trace_other when op is TRACE_OTHER */
        uint32_t thread;
        uint64_t time_ns;    /* to the microsecond */
        uint32_t stack;      /* allocation: where. Release: where the block came from */
        uint32_t free_stack; /* release with --free-stacks: where it was released; else 0 */
        /* of the block allocated (ALLOC, REALLOC) or released (FREE, IMPLICIT_FREE); else `value` */
        uint64_t size_bytes;
        uint64_t seq;     /* of the block allocated or released */
        uint64_t address; /* with --addresses; else 0 */
        /* REALLOC only: the block released */
        uint32_t old_stack;
        /* Sampled: of how many blocks, all of the size above, this one is to be taken as the sample; else 1. Counts and bytes
         * of sites and processes have it times so many. */
        uint32_t n_blocks, old_n_blocks;
        uint64_t old_size_bytes, old_seq;
};

/* Bytes that the block allocated or released stands for; the old one of a REALLOC. */
static inline uint64_t trace_event_bytes(const struct trace_event *e) {
        return e->size_bytes * e->n_blocks;
}

static inline uint64_t trace_event_old_bytes(const struct trace_event *e) {
        return e->old_size_bytes * e->old_n_blocks;
}

/* What happened to one site, in a slice or (checkpoint) since the start. live = inherited +
 * allocated - released. */
struct trace_site {
        uint32_t process, stack;
        uint64_t n_allocs, alloc_bytes;
        uint64_t n_frees, free_bytes;
        uint64_t n_temporary, n_reallocs;      /* its allocations: temporary; made by realloc */
        uint64_t n_inherited, inherited_bytes; /* live in the parent at fork */
        uint64_t n_inherited_frees,
                inherited_free_bytes; /* it inherited: released, or passed on to it */
        /* slice only: live at the moment this process peaked in the slice, minus live when the
         * slice began (inherited counted); and the same for the moment the whole recording
         * peaked (own blocks only) */
        int64_t peak_blocks, peak_bytes;
        int64_t all_peak_blocks, all_peak_bytes;
        uint32_t n_life[TRACE_N_LIFE_BUCKETS]; /* releases by lifetime, slice only */
};

/* What happened to the blocks of one site in a slice beside their coming and going (docs/trace-format.md, "Moves"). */
struct trace_move {
        uint32_t process, stack;
        /* released by another thread than the one that allocated them */
        uint64_t n_foreign_frees, foreign_bytes;
        /* replaced by a larger block: bytes of the old ones, of the new ones; of the old ones, those that realloc
         * left where they were */
        uint64_t n_grown, copied_bytes, grown_bytes, in_place_bytes;
        uint64_t n_shrunk; /* allocated a smaller one, then released: no growth, but exchange */
};

/* What happened to a process: in a slice (deltas) or (checkpoint) since the start. */
struct trace_counts {
        uint32_t process; /* TRACE_NO_PROCESS: the whole recording, for its peak; counts are 0 */
        uint64_t n_allocs, n_frees, n_reallocs, n_failed, n_unknown_frees, n_prior_frees,
                n_implicit_frees;
        uint64_t alloc_bytes, n_temporary, n_lost, n_wrong_sizes;
        uint64_t n_complete_stacks; /* allocations whose walk was complete */
        uint64_t n_inversions;      /* events put right by the alternation of addresses */
        /* states, not deltas */
        uint64_t live_blocks, live_bytes; /* at the end of the slice */
        /* highest within the slice (checkpoint: since the start) */
        uint64_t peak_blocks, peak_bytes, peak_ns;
};

/* Memory of a process as the kernel sees it. */
struct trace_sample {
        uint32_t process;
        uint64_t time_ns;
        uint64_t anon_bytes, file_bytes, shmem_bytes; /* resident; shmem without the arena */
        uint64_t runtime_bytes;              /* silt's own, already taken out of the three */
        uint64_t minor_faults, major_faults; /* since the process began */
        uint64_t cpu_ns;
};

enum trace_tick_state {
        TRACE_ON_CPU = 0,  /* ran */
        TRACE_BLOCKED = 1, /* waited for something: a lock, a descriptor, a timer */
        TRACE_READY = 2,   /* could have run, but others did */
        TRACE_N_TICK_STATES,
};

/* One look at a thread: what it was at, and how much time that stands for (docs/cpu.md). Of an interrupted frame the location is that
 * of pc + 1, so that all of them are looked up as return addresses. */
struct trace_tick {
        uint64_t
                time_ns; /* to the microsecond. A wait is told where it ends, a long one in several ticks */
        uint64_t weight_ns; /* at most TRACE_TICK_MAX_NS */
        uint32_t thread, stack;
        uint32_t n_samples; /* that it consists of; 0: a further part of the wait before it */
        uint8_t state;      /* enum trace_tick_state */
};
#define TRACE_TICK_MAX_NS ((uint64_t)1 << 55)

/* Ticks are kept in spans: those of a short time, in its order. */
struct trace_tick_span {
        uint64_t begin_ns, end_ns;
        uint32_t n;
        bool is_merged; /* within it times are not known: all are at its begin */
};

/* Large blocks of a site, and how much of them lies in pages that some look found in memory or in swap. */
struct trace_look {
        uint64_t n_blocks, bytes, touched_bytes;
};

/* What looks at the pages of a site's large blocks have shown so far. The last row of a site counts. */
struct trace_residency {
        uint32_t process, stack;
        uint64_t time_ns,
                peak_ns; /* of the last look, and of that at which most bytes were alive */
        struct trace_look now, peak; /* alive at those two */
        struct trace_look seen;      /* every block that was ever looked at, as it was found last */
        uint64_t max_touched_bytes;  /* of the blocks alive at one look, at most */
};

/* What recording itself has taken so far, outside of the target. */
struct trace_cost {
        uint64_t time_ns;             /* when this was true; 0: never said */
        uint64_t recorder_peak_bytes; /* resident, the rings it shares with the target included */
        uint64_t recorder_cpu_ns;
};

/* Sampled: what a process did, counted and not estimated; sums, so the last one of a process counts. */
struct trace_tally {
        uint32_t process;
        uint64_t time_ns; /* when this was true */
        uint64_t n_allocs, n_frees, n_reallocs, alloc_bytes;
        uint64_t n_unsampled;  /* samples that could not be kept: too many alive at once */
        uint64_t runtime_ns;   /* time its threads spent in silt, estimated */
        uint64_t sample_bytes; /* mean distance of samples in force */
};

/* What one of several allocators was asked for by a process, all in all. */
struct trace_allocator {
        uint32_t process;
        uint64_t n_allocs, alloc_bytes;
        const char *name, *version; /* "jemalloc", "5.3.0"; "" not known */
        const char *module;         /* path of the file it is in; "" not known */
};

/* What points to what in one process at one moment (docs/holders.md); what is in it only src/reach/ knows. */
struct trace_graph {
        uint32_t process;
        uint64_t time_ns; /* the end of a slice */
        uint64_t n_bytes;
        bool has_heads; /* of blocks that may be tasks: readers that know of none skip it */
};

/* What the resident memory of one process was made of at one moment (docs/bill.md); what is in it only src/resident/ knows. */
struct trace_bill {
        uint32_t process;
        uint64_t time_ns, rss_bytes;
        uint64_t n_bytes;
};

enum trace_prior_flags {
        TRACE_PRIOR_HELD = 1,   /* held_bytes and free_bytes are known */
        TRACE_PRIOR_WHOLE = 2,  /* free_bytes is all that was free, otherwise at least that */
        TRACE_PRIOR_MAPPED = 4, /* mapped_bytes and n_mapped are known */
};

/* What a process had when its recording began, long after its start: memory of blocks that nobody saw. A row for each allocator that
 * could be read, or one without a name. */
struct trace_prior {
        uint32_t process, flags;
        uint64_t age_ns;       /* of the process; 0 not known */
        uint64_t anon_bytes;   /* resident memory of its own; 0 not known */
        uint64_t held_bytes;   /* by the allocator's arenas, blocks and what is free */
        uint64_t free_bytes;   /* of them */
        uint64_t mapped_bytes; /* blocks beside the arenas, a mapping each */
        uint64_t n_mapped, n_arenas;
        const char *allocator; /* "glibc"; "" none could be read */
};

enum trace_room_flags {
        TRACE_ROOM_KILL = 1, /* the kernel has just killed `process`, or another one of the group */
};

/* What memory a cgroup, or the machine, allowed and had at one moment (docs/lab.md, "The black box"). */
struct trace_room {
        uint32_t process; /* whom the row is about; TRACE_NO_PROCESS: all that are in it */
        uint32_t flags;   /* enum trace_room_flags */
        uint32_t version; /* of the cgroup; 0: the machine */
        uint64_t time_ns;
        uint64_t of[ROOM_N_FIGURES]; /* enum room_figure; ROOM_UNKNOWN */
        const char *path;            /* of the cgroup; "" of the machine */
};

enum trace_mapping_op {
        TRACE_MMAP = 0,
        TRACE_MUNMAP = 1,
        TRACE_MREMAP = 2,
        TRACE_BRK = 3,
        TRACE_MPROTECT = 4, /* prot is new; the pages stay whose they are */
        TRACE_N_MAPPING_OPS,
};

struct trace_mapping {
        uint32_t process, thread, stack;
        uint8_t op; /* enum trace_mapping_op */
        uint32_t prot, flags;
        uint64_t time_ns;
        /* MREMAP: new; BRK: new break, and the signed change in size_bytes */
        uint64_t address, size_bytes;
        uint64_t old_address, old_size_bytes; /* MREMAP: old; BRK: old break */
};

/* Names for a location, innermost inlined function first, the function that was really called
 * last. */
struct trace_symbol {
        uint32_t location;
        const char *function; /* demangled; "" unknown */
        const char *file;     /* "" unknown */
        uint32_t line;
        bool inlined; /* into the next entry of the same location */
        bool guess;   /* nearest symbol of a stripped file, or trace_symbol_begin() */
};

/* Where the function without a name begins that has the place: all of it is one function to readers. False: it is not known. */
bool trace_symbol_begin(const struct trace_symbol *s, uint64_t *ret_offset);

/* How the names of a module were found, or why they were not. Numbers stand in files: they keep their
 * meaning, new ones go to the end. */
enum trace_naming {
        TRACE_NAMING_UNKNOWN = 0, /* not looked up yet */
        TRACE_NAMING_FULL = 1,    /* debug information: functions, lines, inlined functions */
        TRACE_NAMING_SYMTAB = 2,  /* symbol table: functions without lines */
        TRACE_NAMING_DYNSYM = 3,  /* exported functions only; others are guessed from the nearest */
        TRACE_NAMING_NOTHING = 4, /* the file is there and names no function */
        TRACE_NAMING_MISSING =
                5, /* no file of code: removed, or never one (code made at run time) */
        TRACE_NAMING_REPLACED = 6,  /* the file there has another build-id than the one that ran */
        TRACE_NAMING_DAMAGED = 7,   /* it cannot be read as ELF or DWARF */
        TRACE_NAMING_CRASHED = 8,   /* looking up died of it, */
        TRACE_NAMING_TIMED_OUT = 9, /* took too long, */
        TRACE_NAMING_OVER_MEMORY = 10, /* or took too much memory */
        TRACE_N_NAMINGS,
};

struct trace_module_names {
        uint32_t module;
        uint32_t naming;  /* enum trace_naming */
        const char *file; /* the separate debug file the names came from; "" none */
        const char *
                text; /* one sentence: what is missing, why, and what to do about it; "" all is well */
};
