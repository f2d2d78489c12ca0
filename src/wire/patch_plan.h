/* SPDX-License-Identifier: MIT */
/* Entry patches for one image, as the recorder hands them to the runtime: a sealed memory file of
 *
 *     wire_plan, wire_plan_section × n_sections, wire_plan_write × n_writes, wire_entry × n_entries, bytes of sections
 *
 * Everything is decided outside: the runtime maps the sections, copies the entries to the table whose address
 * its hello had, and makes the writes whose `before` it finds. docs/patching.md says how they come about. */
#pragma once

#include <stdint.h>

#define WIRE_PLAN_MAGIC 0x314e414c5054534cull /* "LSTPLAN1" */

enum {
        WIRE_PLAN_MAX_ENTRIES = 1024,
        WIRE_PLAN_MAX_SECTIONS = 64,
        WIRE_PLAN_MAX_WRITE = 24,
        WIRE_PLAN_MAX_BYTES = 4 << 20,
        WIRE_ENTRY_NO_ARG = 255, /* the function has no such argument */
};

/* What a function does with its arguments: one hook of the runtime for each. */
enum wire_call {
        WIRE_CALL_ALLOC = 0,        /* returns a block, or NULL */
        WIRE_CALL_ALLOC_THROWS = 1, /* or throws */
        WIRE_CALL_ALLOC_OUT = 2,    /* 0, and the block in what its first argument points to */
        WIRE_CALL_REALLOC = 3,
        WIRE_CALL_RESIZE = 4, /* in place; returns the size it has then (xallocx) */
        WIRE_CALL_FREE = 5,
        WIRE_CALL_ALLOC_TEXT = 6, /* returns a copy of a string: its length tells the size */
        WIRE_CALL_LOADED = 7,     /* the loader has changed its list of objects */
        /* heaps that can be released whole: mimalloc's */
        WIRE_CALL_HEAP_NEW = 8,     /* returns one; size_arg: whether it may be destroyed */
        WIRE_CALL_HEAP_DESTROY = 9, /* its first argument, with all blocks in it */
        WIRE_CALL_HEAP_DELETE = 10, /* its first argument; the blocks live on */
        WIRE_CALL_HEAP_DEFAULT =
                11, /* its first argument is what the thread allocates from now on */
        /* and jemalloc's arenas */
        WIRE_CALL_CONTROL = 12,     /* mallctl */
        WIRE_CALL_CONTROL_MIB = 13, /* mallctlbymib */
        WIRE_CALL_NAME_TO_MIB = 14, /* mallctlnametomib */
        WIRE_CALL_PRCTL = 15,       /* may give up rights; its first argument says so */
        WIRE_N_CALLS,
};

/* Which heap a function allocates from; 0: its allocator has none that can be released whole. */
enum wire_entry_heap {
        WIRE_ENTRY_HEAP_OF_THREAD = 1,
        WIRE_ENTRY_HEAP_ARG = 16,   /* + n: that of argument n */
        WIRE_ENTRY_HEAP_FLAGS = 32, /* + n: argument n is jemalloc's flags */
        /* or'ed to these: what it is built on may be called from anybody's code, not only from [code_begin, code_end) */
        WIRE_ENTRY_OPEN = 64,
        /* From none; and calls of the allocator's own code are never the program's, whatever runs: the C library's allocator releases
         * what it keeps for a thread when that ends. Its other functions come by way of the preloaded hooks. */
        WIRE_ENTRY_HEAP_NONE_INNER = 128,
};

/* One patched function. */
struct wire_entry {
        uint64_t code_begin, code_end; /* of the allocator: calls from there are its own */
        uint64_t moved;                /* calling this is calling the function as it was */
        uint8_t call;                  /* enum wire_call */
        uint8_t form;                  /* enum wire_form | allocator << WIRE_FORM_BITS */
        uint8_t size_arg, count_arg;   /* bytes asked for: the product; or WIRE_ENTRY_NO_ARG */
        uint8_t block_arg;             /* that is released, or given a new size */
        uint8_t heap;                  /* enum wire_entry_heap */
        uint16_t group;                /* functions of one allocator have the same, in one plan */
};

struct wire_plan_section {
        uint64_t addr, off,
                n_bytes; /* whole pages at addr; what to put there, at off in the file */
};

struct wire_plan_write {
        uint64_t at;
        uint16_t n_bytes;
        uint16_t section; /* where it leads */
        uint32_t entry;
        uint8_t before[WIRE_PLAN_MAX_WRITE], after[WIRE_PLAN_MAX_WRITE];
};

struct wire_plan {
        uint64_t magic;
        uint32_t n_sections, n_writes, n_entries, reserved;
        uint64_t size_bytes; /* of the file */
};

_Static_assert(sizeof(struct wire_entry) == 32, "both sides must agree on the layout");
_Static_assert(sizeof(struct wire_plan_write) == 64, "both sides must agree on the layout");
_Static_assert(sizeof(struct wire_plan) == 32, "both sides must agree on the layout");
