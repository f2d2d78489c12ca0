/* SPDX-License-Identifier: MIT */
/* For tests: answers to filtered questions the slow way. Every copy of every block in every process
 * is written down with when it was there; the figures are sums over that list. Shares nothing
 * with the query layer but the structs of its answers; patterns are libc's, and the code that asked is what the rules of
 * names say of a whole stack. Of all processes together a block counts in the process that allocated it and nowhere else; where
 * heirs count, heirs_test.c adds up what brute.h has of the call paths selected here. */
#pragma once

#include "query/query.h"

enum { BRUTE_MAX_CONDITIONS = 8 };

struct brute_condition {
        const char *kind;    /* as query_filter_add has it */
        const char *pattern; /* function, module, file and thread names */
        uint64_t min, max;   /* ranges as docs/query.md has them; alive-at, freed-before: min */
        uint64_t ids[4];     /* tids, pids */
        unsigned n_ids;
};

struct brute_filter {
        struct brute_condition conditions[BRUTE_MAX_CONDITIONS];
        unsigned n;
};

/* The trace, read once; then any number of questions. */
struct brute_lives;
int brute_lives_new(const char *trace_path, struct brute_lives **ret, struct err *reterr);
struct brute_lives *brute_lives_free(struct brute_lives *b);
DEFINE_CLEANUP(struct brute_lives, brute_lives_free)

/* A recorder learns late of processes: children forked before the slice in which the first of them is seen stand in that
 * slice, and until then in no row. Moves an edge of a window out of such a gap. */
void brute_lives_move_edge(const struct brute_lives *b, uint64_t *time_ns);

struct query_answer *brute_lives_ask(struct brute_lives *b, const struct query_scope *scope,
                                     const struct brute_filter *f);

/* Calls fn for each selected block allocated in the window, in order: number, and moment of release (UINT64_MAX: none). */
void brute_lives_each_block(struct brute_lives *b, const struct query_scope *scope,
                            const struct brute_filter *f,
                            void (*fn)(void *ctx, uint64_t seq, uint64_t end_ns), void *ctx);

/* The highest sum of selected live bytes in each of n columns of [from, to), as struct query_column has it. */
void brute_lives_columns(struct brute_lives *b, const struct query_scope *scope,
                         const struct brute_filter *f, size_t n_columns, uint64_t *ret_bytes);
