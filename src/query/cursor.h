/* SPDX-License-Identifier: MIT */
/* Rows that are pulled.
 *
 * A cursor reads on when the next row is asked for, slice by slice, so that memory does not follow how much there is. Each cursor has its own
 * place in the trace: several may be open, and the query may be asked between their rows. What the scope's filter and the query's
 * names and symbols are made of must live and stay as it is until the cursor is freed.
 *
 *   query_cursor_open(q, &scope, QUERY_ROWS_EVENTS, &c, &err);
 *   while ((r = query_cursor_next(c, &row, &err)) > 0)
 *           put(row->event.event);
 *   query_cursor_free(c); */
#pragma once

#include "query/query.h"

enum query_rows {
        QUERY_ROWS_BLOCKS,        /* as query_blocks */
        QUERY_ROWS_EVENTS,        /* in the order of time */
        QUERY_ROWS_SITES,         /* of each slice, what happened in it by call path and process */
        QUERY_ROWS_MAPPINGS,      /* as query_mappings */
        QUERY_ROWS_MAPPING_CALLS, /* mmap and the like, in the order of time */
        QUERY_ROWS_THREADS,       /* as query_threads, with figures */
        QUERY_ROWS_NOTES,         /* of the window, as they stand in the trace */
        QUERY_N_ROWS,
};
const char *query_rows_name(enum query_rows rows); /* "blocks", "mapping-calls" */

/* A filter selects events of its blocks: allocations, releases, reallocations of which either block is selected. Events without
 * a block (lost, failed, unknown releases) are told without a filter only. */
struct query_event {
        const struct trace_event *event;
        uint32_t process; /* TRACE_NO_PROCESS: not known; told of all processes only */
        /* what of it the filter selects: the block it is about, of reallocations the new one; and their old one */
        bool is_selected, is_old_selected;
};

/* Slices that overlap the window; conditions on single blocks are refused. */
struct query_slice_site {
        size_t slice_idx;
        uint64_t begin_ns, end_ns;
        bool is_whole; /* false: an edge of the window cuts the slice, whose figures are told whole */
        const struct trace_site *site;
};

struct query_row {
        union {
                struct query_block block;
                struct query_event event;
                struct query_slice_site site;
                struct query_mapping mapping;
                const struct trace_mapping *mapping_call;
                struct query_thread thread;
                const struct trace_note *note;
        };
};

struct query_cursor;
int query_cursor_open(struct query *q, const struct query_scope *scope, enum query_rows rows,
                      struct query_cursor **ret, struct err *reterr);
/* 1 and a row, valid until the next call; 0 behind the last one; or -errno: -ECANCELED and -ETIME as of any answer, after
 * which it may be asked again and goes on where it was. */
int query_cursor_next(struct query_cursor *c, const struct query_row **ret, struct err *reterr);
/* Events that were needed could not be read so far: rows are missing. */
bool query_cursor_is_exact(const struct query_cursor *c);
struct query_cursor *query_cursor_free(struct query_cursor *c); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_cursor, query_cursor_free)
