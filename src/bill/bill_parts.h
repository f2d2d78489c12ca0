/* SPDX-License-Identifier: MIT */
/* Parts of which resident memory is made, of one process or of several together (docs/bill.md, "Parts"). They add up to it to the byte: every
 * page is in one part, and what no part knows is one of them, with its size.
 *
 *   struct bill b = {0};
 *   bill_add(&b, &resident, &(struct bill_owner){…});      // once for each process
 *   bill_finish(&b);                                       // largest lines first
 *   bill_done(&b); */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/query.h"
#include "resident/resident.h"

enum bill_kind {
        BILL_LIVE,     /* blocks, as they were asked for */
        BILL_ROUNDING, /* to what the allocator sets aside */
        BILL_HEADERS,
        BILL_EMPTY,   /* free pages that the allocator keeps */
        BILL_BETWEEN, /* free, or the allocator's own, in pages that hold a live block */
        BILL_HEAP,    /* pages of a heap whose blocks nobody knows */
        BILL_MAPPED,  /* by the program itself */
        BILL_STACKS,
        BILL_CHANGED, /* pages of programs, libraries and private files that were written to */
        BILL_FILES,   /* the same as they are in the file, and files mapped shared */
        BILL_SHARED,  /* shared memory */
        BILL_RUNTIME, /* silt's own inside the process */
        BILL_REST,    /* nobody accounts for it */
        BILL_N_KINDS,
};
const char *bill_kind_key(enum bill_kind k); /* of JSON: "live", "rounding" … */

/* What a part is made of: mappings of one call path, of one name, or of one file. */
struct bill_line {
        const char *
                name; /* "" where the call path names it; beside one: the allocator it meets others in; in the arena */
        uint64_t bytes, private_bytes; /* resident; of these in no other process */
        uint64_t size_bytes;           /* of addresses */
        uint32_t stack;                /* with most bytes; 0: none */
        uint32_t n;                    /* mappings; of stacks: threads */
        uint32_t n_stacks;             /* call paths */
};

struct bill_part {
        int64_t bytes; /* of BILL_REST also below 0: memory that changed while it was looked at */
        VEC(struct bill_line) lines; /* these add up to it where there are any */
        struct map by_key, seen_stacks;
};

/* Pages that few live bytes keep, by the function whose blocks these are. */
struct bill_pin {
        uint32_t stack; /* with most of it; 0 unknown */
        uint64_t n_pages, n_alone, n_blocks, block_bytes, free_bytes;
};

/* What an allocator says of its free memory. */
struct bill_free {
        const char *allocator, *name;
        uint64_t bytes, releasable_bytes, n_blocks;
};

/* One of several processes. */
struct bill_process {
        uint32_t process;
        uint64_t time_ns, resident_bytes, rss_bytes;
};

struct bill {
        struct arena *arena;
        uint64_t resident_bytes; /* of several processes: what they share once (pss) */
        bool is_shared_once;
        struct bill_part parts[BILL_N_KINDS];
        uint64_t page_bytes;
        uint64_t n_blocks, asked_bytes; /* live, in memory or not */
        uint64_t heap_bytes;            /* all parts up to BILL_HEAP */
        uint64_t huge_bytes;            /* of resident memory, in huge pages that were not split */
        uint64_t stack_reserved_bytes;  /* addresses of thread stacks */
        uint64_t n_pages[RESIDENT_N_FILLS];
        uint64_t swap_bytes, page_table_bytes, hugetlb_bytes, locked_bytes; /* not in it */
        uint64_t anon_bytes; /* of resident memory: charged to a cgroup as such */
        bool lacks_blocks, lacks_asked, is_sampled; /* of at least one process */
        bool is_divided; /* a mapping was divided by its addresses: its parts may differ from what is said */
        uint64_t cost_ns;
        VEC(struct bill_pin) pins; /* most free bytes first */
        struct map pin_of_key;
        VEC(struct bill_free) frees;
        VEC(struct bill_process) processes;
        struct resident_cgroup cgroup; /* of the first process that has one; its path: */
        const char *cgroup_path;
};

/* A range that the program mapped itself. */
struct bill_range {
        uint64_t begin, end;
        uint32_t stack;
};

/* What is known of the process beside its memory. */
struct bill_owner {
        const struct bill_range *ranges; /* by address, without overlap */
        size_t n_ranges;
        bool has_ranges; /* false: nobody recorded what it mapped, so that every anonymous mapping may be its own */
        bool is_shared_once; /* count what it shares with others once */
        /* call paths with the same number are one line: by the function that asked. NULL: each is its own */
        uint64_t (*key_of_stack)(void *ctx, uint32_t stack);
        /* the same for what the program maps: by the allocator of its own that it maps for. NULL: as key_of_stack */
        uint64_t (*key_of_mapping)(void *ctx, uint32_t stack);
        void *ctx;
};

void bill_add(struct bill *b, const struct resident *r, const struct bill_owner *o);
void bill_finish(struct bill *b);
void bill_done(struct bill *b);

/* Free, and kept by the allocator. */
static inline uint64_t bill_kept_bytes(const struct bill *b) {
        return (uint64_t)(b->parts[BILL_EMPTY].bytes + b->parts[BILL_BETWEEN].bytes);
}
