/* SPDX-License-Identifier: MIT */
/* Reads roots and blocks and finds what points to which block. Memory is a process's that does not run: silt reads it from outside, in
 * parallel, and what cannot be read is counted. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/vec.h"
#include "reach/heap_graph.h"
#include "reach/reach_graph.h"

/* That a block may be a container's, as one holder of it says (containers.h); what a and b are depends on the kind. */
struct container_hint {
        uint32_t block;
        uint8_t kind, group_bytes, log2_slots;
        bool is_firm;
        uint64_t a, b;
};

typedef VEC(struct container_hint) container_hint_list;
typedef VEC(struct heap_head) heap_head_list;

struct reach_memory {
        /* Up to the first byte that cannot be read; how many. Called by several threads. */
        size_t (*read)(void *ctx, uint64_t address, void *ret, size_t n_bytes);
        /* The first address from here on that may hold anything but zeros, at most end; NULL: all may. */
        uint64_t (*skip)(void *ctx, uint64_t address, uint64_t end);
        /* Constants of a file, which cannot be written; code: for what vtables are. NULL: nobody knows, and nothing is taken for one. */
        bool (*is_constant)(void *ctx, uint64_t address);
        bool (*is_code)(void *ctx, uint64_t address);
        /* A file's, whether it can be written or not. NULL: the same. */
        bool (*is_file)(void *ctx, uint64_t address);
        void *ctx;
};

struct reach_scan {
        const struct reach_memory *memory;
        const struct reach_block *blocks; /* by address */
        const struct reach_root *roots;
        uint32_t n_blocks, n_roots;
        unsigned n_threads;      /* 0: as many as there are processors */
        bool without_heuristics; /* interior pointers are no more than that */
        /* Of each block, a table of functions that says what it is (vtable.h): one of its first words points there, or it stands beside a
         * pointer to the block; 0: none. Zeros before. NULL: nobody asks. */
        uint64_t *tables;
        bool wants_hints;             /* of containers */
        bool wants_heads;             /* of blocks that may be tasks; only with tables */
        bool has_exact_sizes;         /* blocks with a site are as large as was asked for */
        const atomic_bool *is_over;   /* true: give up with -ECANCELED. NULL: never */
        _Atomic uint64_t *done_bytes; /* how far it is, for a progress line; NULL: nobody asks */
};

struct reach_scanned {
        struct reach_graph graph; /* blocks and roots as given */
        uint64_t *
                root_words; /* of each edge of a root, in their order: the address of the word that points; of registers, 8 times their number */
        container_hint_list hints; /* if they are wanted */
        heap_head_list heads;      /* the same; by block */
        uint64_t read_bytes, unread_bytes;
};

void reach_scanned_done(struct reach_scanned *s);

uint64_t reach_scan_bytes(const struct reach_scan *s); /* of all roots and blocks */

/* 0, -ENOMEM, -EINVAL (blocks that overlap), -ECANCELED. */
int reach_scan(const struct reach_scan *s, struct reach_scanned *ret);
