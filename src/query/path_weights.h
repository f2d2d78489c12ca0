/* SPDX-License-Identifier: MIT */
/* Groups and trees over any numbers.
 *
 * They are made of rows with a call path and figures. The sites of an answer are such rows; so is whatever else
 * happens at a call path. Its numbers are `values` of the figures, up to QUERY_MAX_VALUES, all of which add up; everything else
 * in them is 0. QUERY_VALUE(i) is the metric to sort and prune by. */
#pragma once

#include "query/query.h"

struct map;

enum { QUERY_MAX_VALUES = ARRAY_SIZE(((struct query_figures *)NULL)->values) };
#define QUERY_VALUE(i) ((enum query_metric)(QUERY_N_METRICS + 1 + (i)))

struct query_value {
        const char *name; /* "end" */
        bool is_bytes;    /* else a number of things */
};

struct query_weights {
        const struct query_value *values; /* n_values; not owned */
        size_t n_values;
        struct query_site *rows; /* one for each call path and process */
        size_t n;
        struct map *by_site; /* finds rows to add to */
};

struct query_weights *query_weights_new(const struct query_value *values, size_t n_values);
struct query_weights *query_weights_free(struct query_weights *w); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_weights, query_weights_free)
/* Adds to the row of the call path; process may be QUERY_ALL. */
void query_weights_add(struct query_weights *w, uint32_t stack, uint32_t process,
                       const int64_t *values);

/* What query_mappings tells of each call path: "peak", "end", "reserved" and "mapped" bytes, and "calls". Peaks of different
 * call paths need not be of one moment: their sum is at most so much. */
enum query_mapping_value {
        QUERY_MAPPING_PEAK,
        QUERY_MAPPING_END,
        QUERY_MAPPING_RESERVED,
        QUERY_MAPPING_MAPPED,
        QUERY_MAPPING_CALLS,
};
int query_weigh_mappings(struct query *q, const struct query_scope *scope,
                         struct query_weights **ret, struct err *reterr);
/* What query_residency tells of each call path of each process: bytes of "slack", alive at the "peak", "touched" at most, and ever
 * "seen"; and how many "blocks" were seen. */
enum query_residency_value {
        QUERY_RESIDENCY_SLACK,
        QUERY_RESIDENCY_PEAK,
        QUERY_RESIDENCY_TOUCHED,
        QUERY_RESIDENCY_SEEN,
        QUERY_RESIDENCY_BLOCKS,
};
int query_weigh_residency(struct query *q, const struct query_scope *scope,
                          struct query_weights **ret, struct err *reterr);
/* What query_moves tells: "foreign" releases, "grown" blocks, bytes "copied". *ret is NULL where moves are not known. */
enum query_move_value { QUERY_MOVE_FOREIGN, QUERY_MOVE_GROWN, QUERY_MOVE_COPIED };
int query_weigh_moves(struct query *q, const struct query_scope *scope, struct query_weights **ret,
                      struct err *reterr);

/* By call path or process; `metric` is a QUERY_VALUE. */
int query_group_weights(struct query *q, const struct query_weights *w,
                        const struct query_group_options *o, struct query_groups **ret,
                        struct err *reterr);
int query_tree_weights(struct query *q, const struct query_weights *w,
                       const struct query_tree_options *o, struct query_tree **ret,
                       struct err *reterr);

/* One value of the largest groups over time: columns[c] are the weights of stretch c. */
struct query_weights_history {
        struct query_groups *groups; /* of all columns together, sorted */
        size_t n_groups, n_columns;
        int64_t *values; /* [group * n_columns + column]; group n_groups is the rest */
};
int query_history_weights(struct query *q, const struct query_weights *const *columns,
                          size_t n_columns, const struct query_group_options *o, size_t n_groups,
                          struct query_weights_history **ret, struct err *reterr);
struct query_weights_history *query_weights_history_free(struct query_weights_history *h);
DEFINE_CLEANUP(struct query_weights_history, query_weights_history_free)
