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

struct heap_graph {
        struct reach_graph graph; /* its arrays are owned, blocks and roots too */
        struct reach_block *
                blocks; /* the same, to be changed: site is a stack of the trace, or a number of the maker's */
        struct reach_root *roots; /* a word each; `owner` is a number of owners */
        struct heap_owner *owners;
        uint32_t n_owners;
        uint64_t *seqs;    /* of each block: which allocation it is; NULL where nobody counted */
        uint64_t pause_ns; /* so long did the program stand still */
        uint64_t unread_bytes; /* of memory that could not be read */
        uint32_t
                n_unsettled; /* blocks that were being allocated or freed at that moment, at most */
};

void heap_graph_done(struct heap_graph *h);

void heap_graph_encode(const struct heap_graph *h, bytes_buf *ret);

/* Trusts nothing; memory is bounded by what n_bytes can hold. 0 or -EBADMSG. */
int heap_graph_decode(const uint8_t *bytes, size_t n_bytes, struct heap_graph *ret,
                      struct err *reterr);
