/* SPDX-License-Identifier: MIT */
/* A graph with all that belongs to it, and its bytes in a trace (docs/trace-format.md, "GRPH"). */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "reach/reach_graph.h"

/* Whose roots they are. */
struct heap_owner {
        char *name;    /* a module's path, a thread's name, what a mapping is called; owned */
        uint64_t base; /* of a module: where its file begins; of a mapping: its own begin */
        uint32_t tid;  /* of a stack, and of registers */
};

/* What a trace can name of the addresses that roots have. */
enum heap_place_kind {
        PLACE_VARIABLE, /* this word is a part of a variable */
        PLACE_FRAME,    /* from here on, this function's frame of a stack */
        PLACE_STACK_END, /* from here on, what lies above the first frame: a thread's start and its own data */
        PLACE_FUNCTION, /* here begins a function of a type's table */
        N_PLACE_KINDS,
};

#define HEAP_NO_SEQ UINT64_MAX /* it was there before the recording began */
#define HEAP_NO_LOCATION UINT32_MAX

struct heap_place {
        uint64_t address;
        uint32_t location; /* of the trace; HEAP_NO_LOCATION: none */
        enum heap_place_kind kind;
};

/* What blocks are, where a table of functions tells it. */
enum heap_type_kind {
        TYPE_CXX,   /* a C++ class: `name` is mangled, as RTTI has it */
        TYPE_RUST,  /* behind a Rust `dyn`: `function` drops one, or does something with it */
        TYPE_OTHER, /* `function` is the first of its table; rows behind those of all blocks, with the same table, are of the others */
        N_TYPE_KINDS,
};

enum { HEAP_MAX_TYPES = 65536 };

struct heap_type {
        char *name;        /* owned; "": none */
        uint64_t table;    /* its address, of the first one found */
        uint64_t function; /* its address; 0: none */
        enum heap_type_kind kind;
};

/* What a block is by its shape, where who holds it and what is in it agree (containers.h). */
enum heap_container_kind {
        CONTAINER_OPEN_TABLE, /* hashbrown's: entries in slots */
        CONTAINER_CHAINED_TABLE, /* the array of libstdc++'s unordered ones: entries, which are elsewhere, in buckets */
        CONTAINER_VECTOR, /* bytes in use, and in all */
        CONTAINER_STRING,
        CONTAINER_RUST, /* the same of one of Rust's, if the call path says so as well: three words that could be others */
        N_CONTAINER_KINDS,
};

struct heap_container {
        uint32_t block;
        enum heap_container_kind kind;
        uint64_t used, room; /* used may be more than room in a chained table alone */
};

/* The first words of a block that may be a task (docs/tasks.md): one of them points to a table of functions, or the first two are code; of a source of a main
 * loop, and of what its callback is kept in. */
enum { HEAP_HEAD_WORDS = 8, HEAP_MAX_HEADS = 1 << 20 };

struct heap_head {
        uint32_t block;
        uint64_t words[HEAP_HEAD_WORDS]; /* 0 behind the block's end */
};

struct heap_graph {
        struct reach_graph graph; /* its arrays are owned, blocks and roots too */
        struct reach_block *
                blocks; /* the same, to be changed: site is a stack of the trace, or a number of the maker's */
        struct reach_root *roots; /* a word each; `owner` is a number of owners */
        struct heap_owner *owners;
        uint32_t n_owners;
        struct heap_place *places; /* by address; known only when all else is */
        uint32_t n_places;
        struct heap_type *types;
        uint32_t n_types;
        uint32_t *
                type_of; /* of each block: its type's number + 1; 0: none is known. NULL: of none */
        struct heap_container *containers; /* by block, one of a block at most */
        uint32_t n_containers;
        struct heap_head *heads; /* by block */
        uint32_t n_heads;
        uint32_t n_unkept_heads; /* beyond HEAP_MAX_HEADS */
        uint32_t *
                still; /* by number: blocks with heads, and others that stacks lead to, that were the same at a second look */
        uint32_t n_still;
        uint64_t still_ns; /* so long after the first one; 0: there was none */
        uint64_t *
                seqs; /* of each block: which allocation it is, or HEAP_NO_SEQ; NULL where nobody counted */
        uint64_t pause_ns;     /* so long did the program stand still */
        uint64_t unread_bytes; /* of memory that could not be read */
        uint32_t
                n_unsettled; /* blocks that were being allocated or freed at that moment, at most */
};

/* No block ends behind it, so that sums of their sizes, and differences of such sums, are numbers with a sign. */
#define HEAP_MAX_ADDRESS ((uint64_t)1 << 62)

void heap_graph_done(struct heap_graph *h);

/* Rust's hash tables are held by a pointer into the middle, to where their control bytes begin. Those that were recognised count as held. */
void heap_graph_follow_tables(struct heap_graph *h);

/* In two steps, one behind the other: the places are known when the graph is. */
void heap_graph_encode(const struct heap_graph *h, bytes_buf *ret);
void heap_graph_encode_places(const struct heap_place *places, uint32_t n, bytes_buf *ret);

/* Trusts nothing; memory is bounded by what n_bytes can hold. 0 or -EBADMSG. */
int heap_graph_decode(const uint8_t *bytes, size_t n_bytes, struct heap_graph *ret,
                      struct err *reterr);
