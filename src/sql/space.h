/* SPDX-License-Identifier: MIT */
/* One trace as the tables see it: main, or other. What is dear to find out and small to keep is kept here between statements.
 * Inside sql/ only. */
#pragma once

#include "query/query.h"
#include "sql/sql.h"

enum { SPACE_MAX_MOMENTS = 4, SPACE_MAX_WINDOWS = 8, SPACE_MAX_GRAPHS = 2 };

struct sql_space {
        struct sql *sql;
        const char *schema; /* "main", "other" */
        struct sql_trace trace;
        const struct trace_view *view;
        uint32_t process; /* that figures are about, or QUERY_ALL */
        bool is_inexact;  /* an answer lacked a part of the trace */
        bool is_moved;    /* an edge of a window was moved to a moment that is known */
        uint64_t n_rows_read;
        struct query *spare; /* that nobody reads with; NULL: make one */
        bool lacks_detail;   /* an answer told only what happened since detail was kept */
        struct live_moment *moments[SPACE_MAX_MOMENTS]; /* sql/allocation_table.c */
        bool lacks_heirs; /* live: what passed on to children of those that have ended */
        bool tells_curve; /* timeline, of one process: its highest point is above the peak that is told of samples */
        bool tells_shares; /* timeline: stretches that begin or end within a slice have their share of it */
        struct query_answer *whole; /* all of the time, by stack; NULL: nobody asked yet */
        struct window_sites *windows[SPACE_MAX_WINDOWS]; /* sql/window_sites.h */
        uint64_t n_window_uses;
        struct path_texts *paths;        /* sql/path_text.h */
        struct stack_children *children; /* sql/stack_table.c */
        struct query_mapping *mappings;  /* by stack; NULL: nobody asked yet */
        size_t n_mappings;
        struct findings *findings; /* NULL: nobody asked yet */
        struct query_thread *
                threads; /* figures of each, TRACE_NO_THREAD where there are none; NULL: nobody asked yet */
        struct pattern_cache *patterns;
        struct space_graph *graphs[SPACE_MAX_GRAPHS]; /* sql/space_graph.h; NULL: a free place */
        uint64_t n_graph_uses;
};

/* For whatever takes long and is not a query: whether the statement that runs was stopped, or is beyond a limit. */
bool sql_must_stop(struct sql *s);
/* That a plan was refused since an argument of a table has no value in it: where SQLite finds no other, that is why. */
void sql_note_argument(struct sql *s, const char *argument, const char *table);
/* Between the two silt does what it does for other commands, too, whatever the statement is: the memory that it takes is not the statement's. */
void sql_begin_own_work(struct sql *s);
void sql_end_own_work(struct sql *s);

struct query_scope space_scope(const struct sql_space *s);
/* The answer for all of the time, made once. */
int space_whole(struct sql_space *s, const struct query_answer **ret, struct err *reterr);
/* sites, window, allocations: whether it is known what realloc made. */
bool space_knows_reallocs(struct sql_space *s);
/* Times are numbers of events, or of moments. */
bool space_lacks_time(const struct sql_space *s);
/* Refuses a window that ends before it begins, or begins behind the end of the recording. */
int space_check_window(const struct sql_space *s, uint64_t from_ns, uint64_t to_ns,
                       struct err *reterr);
void stack_children_done(struct sql_space *s);
void space_sort_sites(struct query_answer *a); /* by stack */
void live_moments_done(struct sql_space *s);
void space_done(struct sql_space *s);

/* A query of the same trace to read on with while others are asked, also in another thread; without names. */
struct query *space_borrow(struct sql_space *s);
void space_return(struct sql_space *s, struct query *q); /* NULL ok */

/* Tables of single blocks and events: refuses where the trace has none, or none of before `until_ns` (the last moment that is asked
 * about); else notes whether some are missing from from_ns on. */
int space_check_detail(struct sql_space *s, uint64_t from_ns, uint64_t until_ns,
                       struct err *reterr);

/* An argument that is a time: nanoseconds as a number; "5s", "@peak" as a text. NULL (the argument was left out): without_ns. */
struct sqlite3_value;
int space_time(struct sql_space *s, struct sqlite3_value *v, uint64_t without_ns, uint64_t *ret_ns,
               struct err *reterr);
/* The same, and whether it is the peak itself ('@peak') and not only its time, which other events may have too. */
int space_moment(struct sql_space *s, struct sqlite3_value *v, uint64_t without_ns,
                 uint64_t *ret_ns, bool *ret_is_peak, struct err *reterr);
