/* SPDX-License-Identifier: MIT */
/* The heap's pages at moments, as pictures draw them: stretches of equal length in the order of their addresses, with whose they are.
 * Inside bill/ only. */
#pragma once

#include "bill/bill_series.h"

enum {
        HEAP_MAX_CELLS = 4096, /* of a picture; more are put together */
        HEAP_MAX_OWNERS = 12,  /* that have a colour; the others share one */
        HEAP_MAX_FRAMES = 60,  /* of a film */
};

struct heap_cell {
        uint64_t begin, size_bytes, resident_bytes, live_bytes;
        uint64_t newest_ns, oldest_ns; /* 0 unknown */
        uint64_t n_blocks;
        uint32_t stack; /* with most bytes; 0 none */
        uint32_t owner; /* of owners, or HEAP_MAX_OWNERS: another, HEAP_MAX_OWNERS + 1: nobody */
        bool is_apart;  /* other addresses lie before it */
};

struct heap_frame {
        uint64_t time_ns, rss_bytes, heap_bytes, live_bytes, free_bytes;
        VEC(struct heap_cell) cells;
};

struct heap_owner {
        uint32_t stack;
        uint64_t bytes; /* live, over all moments */
        struct str name;
};

struct heap_cells {
        uint32_t process;
        VEC(struct heap_frame) frames; /* by time */
        VEC(struct heap_owner) owners; /* most first */
};

/* Of the points of one process of the series, from `first` on; of more than HEAP_MAX_FRAMES evenly spread ones. */
int heap_cells_read(struct heap_cells *h, struct query *q, struct bill_keys *keys,
                    const struct bill_series *s, const size_t *points, size_t n,
                    struct err *reterr);
void heap_cells_done(struct heap_cells *h);

/* 0: nothing live; 8: full. 9: not in memory. */
unsigned heap_cell_fill(const struct heap_cell *c);
enum { HEAP_N_FILLS = 10, HEAP_N_AGES = 6 };
/* How long ago the last block of it was allocated, of the time until then: 0 just now … 4 since the beginning; 5: nothing is live, or unknown. */
unsigned heap_cell_age(const struct heap_cell *c, uint64_t now_ns);
