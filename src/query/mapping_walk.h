/* SPDX-License-Identifier: MIT */
/* The mappings of a trace replayed in the order of time, for all processes that a scope is about. Inside query/ only.
 *
 * Each process has a table of ranges that do not overlap, sorted by address; a fork copies its parent's. A range counts in the process
 * that mapped it, once, whatever copies children have; when that process ends, in its eldest heir that lives. Of one process all
 * ranges count, inherited ones too.
 *
 *   mapping_walk_init(&w, q, scope, &reterr);
 *   w.change = …; w.called = …; w.ctx = …;
 *   mapping_walk_to(&w, time_ns);       // everything earlier than that; as often as needed, with later times
 *   mapping_walk_done(&w); */
#pragma once

#include "base/vec.h"
#include "query/query_internal.h"

struct mapping_range {
        uint64_t begin, end;
        uint32_t stack;
        uint32_t mapper;     /* the process that it counts in */
        size_t call_idx;     /* that made it */
        bool is_reserved;    /* nobody may touch it: it takes addresses, no memory */
        bool is_file_backed; /* of a file: its pages are the file's, or copies of them */
};

/* What became more or less in the process; n_ranges: how many more there are. */
struct mapping_change {
        uint32_t process;
        const struct mapping_range *range; /* whose it is */
        int64_t by_bytes;
        int n_ranges;
        uint64_t time_ns;
        bool is_handed_on; /* to another process, from another: nothing was mapped or unmapped */
};

struct mapping_table {
        VEC(struct mapping_range) ranges;
        bool is_asked;  /* changes are told */
        bool has_heirs; /* somebody inherited what it mapped */
};

struct mapping_walk {
        struct query *q;
        uint32_t process; /* or QUERY_ALL */
        const struct trace_mapping *calls;
        size_t n_calls, next_call;
        struct mapping_table *tables;   /* one a process */
        bool *is_needed;                /* one a process: it or a descendant is asked about */
        VEC(struct mapping_turn) turns; /* begins and ends of processes, in time order */
        size_t next_turn;
        uint64_t time_ns;
        bool has_protects; /* some call changed what may be touched */
        void *ctx;
        void (*change)(void *ctx, const struct mapping_change *c);
        /* A call that maps, with its bytes; NULL: never mind. Before its changes are told */
        void (*called)(void *ctx, const struct trace_mapping *m, uint64_t size_bytes);
};

struct mapping_turn {
        uint64_t time_ns;
        uint32_t process;
        bool is_end;
};

int mapping_walk_init(struct mapping_walk *w, struct query *q, const struct query_scope *scope,
                      struct err *reterr);
/* Fails nowhere; when it is told to stop (query_end), what it told is not whole. */
void mapping_walk_to(struct mapping_walk *w, uint64_t time_ns);
void mapping_walk_done(struct mapping_walk *w);
