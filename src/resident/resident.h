/* SPDX-License-Identifier: MIT */
/* What the resident memory of one process was made of at one moment (docs/bill.md): its mappings as the kernel counts them, its heap's pages as the live blocks
 * lie in them, and what its allocators say of themselves. Facts, not yet an answer: `bill/` makes parts that add up of them.
 *
 *   /proc/PID/smaps, pagemap ──▶ areas, pages ─┐
 *   live blocks (recorder, or a copy's heap) ──┼──▶ struct resident ──▶ BILL chunk of the trace, or `silt bill PID` at once
 *   allocators' own books (a copy) ────────────┘ */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum {
        RESIDENT_N_FILLS =
                9, /* 0: no live block in the page; f: up to f eighths of it in live blocks */
        RESIDENT_MAX_AREAS = 4096, /* the rest of a kind is added up to one */
        RESIDENT_MAX_PINS = 256,
        RESIDENT_MAX_CELLS = 16384,
        RESIDENT_MAX_ALLOCATORS = 64,
        RESIDENT_MAX_FREES = 4096,
};

/* Numbers stand in files. */
enum resident_kind {
        RESIDENT_ANON = 0,         /* private, without a file; also zeroed data behind a file's */
        RESIDENT_BRK = 1,          /* "[heap]" */
        RESIDENT_STACK = 2,        /* of a thread; the mapping that its stack pointer is in */
        RESIDENT_FILE_PRIVATE = 3, /* code and data of programs and libraries, private files */
        RESIDENT_FILE_SHARED = 4,  /* MAP_SHARED of a file */
        RESIDENT_SHARED = 5,       /* shared memory: tmpfs, SysV, memfd, anonymous */
        RESIDENT_RUNTIME = 6,      /* silt's own inside the process */
        RESIDENT_KERNEL = 7,       /* [vdso], [vvar] */
        RESIDENT_HUGETLB =
                8, /* of hugetlbfs: not in the kernel's RSS; its bytes are in huge_bytes */
        RESIDENT_N_KINDS,
};

/* Mappings beside each other that are alike. What the kernel says, then what live blocks say of the same pages. Where the ranges that the program mapped
 * itself are known, an area ends where such a range begins or ends: bill/ lays them beside each other, and what a call path mapped is known to the byte. */
struct resident_area {
        uint64_t begin, size_bytes; /* begin 0: the sum of small ones that are left out */
        uint32_t kind;              /* enum resident_kind */
        uint32_t name;              /* of names: a path, "[heap]", "[anon:…]", "" */
        uint32_t tid;               /* of a stack; 0 unknown */
        uint64_t rss_bytes, pss_bytes, private_dirty_bytes, anon_bytes, swap_bytes, huge_bytes;
        /* live blocks that begin here, and the bytes asked for that lie in resident pages of it; 0 where there is none */
        uint64_t n_blocks, asked_bytes, resident_asked_bytes;
        uint64_t
                heap_rss_bytes; /* of rss, in the pages that struct resident_heap counts: those of all areas add up to its */
};

/* The pages in which an allocator has, or had, blocks: all areas but those that the program mapped itself and that have none. Adds up:
 * rss = asked + rounding + header + between + empty. */
struct resident_heap {
        uint64_t rss_bytes, swap_bytes;
        uint64_t n_blocks, asked_bytes; /* live, resident or not */
        uint64_t resident_asked_bytes;  /* of these in resident pages */
        uint64_t rounding_bytes;        /* to what the allocator really sets aside; resident */
        uint64_t header_bytes;          /* before each block; resident */
        uint64_t between_bytes;         /* the rest of pages that hold a live block */
        uint64_t empty_bytes; /* resident pages without one: a trim could give them back */
        uint64_t n_pages[RESIDENT_N_FILLS]; /* resident, by how much of each is in live blocks */
        uint64_t huge_bytes;                /* of rss, in huge pages that were not split */
};

/* Pages that hold so few live bytes that these keep them: at most a quarter. By the call path of the block that has most bytes in the page. */
struct resident_pin {
        uint32_t stack;                 /* of the trace; 0 unknown */
        uint64_t n_pages, n_alone;      /* n_alone: of the pages, those with one live block */
        uint64_t n_blocks, block_bytes; /* blocks of this call path that begin in these pages */
        uint64_t free_bytes;            /* in these pages */
};

/* What an allocator says of its own free memory. */
struct resident_free {
        uint32_t name;             /* "arena 3: bins", "thread cache of 4711", "decay: dirty" */
        uint64_t bytes;            /* free, and kept */
        uint64_t releasable_bytes; /* what a trim or a decay would give back; whole pages */
        uint64_t n_blocks;         /* 0 unknown */
};

struct resident_allocator {
        uint32_t name; /* "glibc", "jemalloc", "mimalloc", "tcmalloc" */
        uint32_t version;
        uint64_t n_blocks, usable_bytes; /* live, as it knows them; 0 unknown */
        uint32_t first_free, n_frees;    /* of frees */
};

/* A stretch of heap pages, for pictures: runs of pages of one area, all cells of a moment equally long but the last of an area. */
struct resident_cell {
        uint64_t begin;
        uint32_t n_pages, n_resident_pages;
        uint64_t live_bytes; /* in resident pages */
        uint64_t oldest_ns,
                newest_ns; /* when its blocks were allocated: time of the recording; 0 unknown */
        uint32_t stack;    /* with most bytes in it; 0 none or unknown */
        uint32_t n_blocks; /* that begin in it */
};

/* The memory cgroup nearest to the process that has a figure. */
struct resident_cgroup {
        uint32_t path;                     /* of names; "" none */
        uint32_t version;                  /* 1, 2; 0 none */
        uint64_t usage_bytes, limit_bytes; /* limit UINT64_MAX: none */
        uint64_t anon_bytes, file_bytes, shmem_bytes, kernel_bytes,
                swap_bytes; /* of usage, as its memory.stat has them */
        uint64_t n_processes;
};

struct resident {
        uint32_t process; /* of the trace */
        uint64_t time_ns;
        uint64_t page_bytes;
        bool has_blocks; /* live blocks are known: else heap has rss alone */
        bool has_asked;  /* what was asked for is known, else sizes are what blocks can hold */
        bool is_sampled; /* blocks stand for several: no pages by fill, no pins */
        uint64_t rss_bytes, pss_bytes, swap_bytes, page_table_bytes, hugetlb_bytes, locked_bytes;
        uint64_t cost_ns; /* that the look took */
        struct resident_cgroup cgroup;
        struct resident_heap heap;
        VEC(struct resident_area) areas; /* by address */
        VEC(uint64_t) arenas;          /* where 64 MiB look like an arena of glibc's; in no file */
        VEC(struct resident_pin) pins; /* most free_bytes first */
        VEC(struct resident_allocator) allocators;
        VEC(struct resident_free) frees;
        VEC(struct resident_cell) cells; /* by address */
        VEC(const char *) names;         /* 0 is "", once there is any */
        VEC(char) name_bytes;            /* that they are in */
};

void resident_done(struct resident *r);

/* The number of a name, the same for the same text; it is copied, cut behind RESIDENT_MAX_NAME_BYTES. */
enum { RESIDENT_MAX_NAME_BYTES = 512, RESIDENT_MAX_NAMES = 8192 };
uint32_t resident_add_name(struct resident *r, const char *text);
uint32_t resident_push_name(struct resident *r, const char *text,
                            size_t n); /* of n bytes, in any case a new one */
const char *resident_name(const struct resident *r, uint32_t name); /* "" where there is none */

/* More areas than a trace keeps: the smallest are added up to one of each kind, with begin 0. */
void resident_cap_areas(struct resident *r);
