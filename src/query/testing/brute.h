/* SPDX-License-Identifier: MIT */
/* For tests: the answer to a query from all events of a trace, one after the other, with a list
 * of every live block of every process. Slow and plain; knows nothing of rows, slices' figures
 * or checkpoints. */
#pragma once

#include "query/query.h"

int brute_ask(const char *trace_path, const struct query_scope *scope, struct query_answer **ret,
              struct err *reterr);

/* Whether blocks of a process that is over count in its heirs, as in traces of a fabric that passes on. */
extern bool brute_passes_on;

/* With the sites of each process apart. */
int brute_ask_split(const char *trace_path, const struct query_scope *scope,
                    struct query_answer **ret, struct err *reterr);

/* Prints how the answers differ and returns the number of differences. Times of peaks are
 * compared only with with_times: a recorder learns of forks late, and dates a child's peak by
 * its first event. */
unsigned brute_compare(const struct query_answer *expected, const struct query_answer *actual,
                       bool with_times, FILE *out);

/* Whether a process holds nothing at time_ns any more, as far as all together go: it had ended, and another one ended later
 * or never did. */
bool brute_is_gone(const struct trace_view *v, uint32_t process, uint64_t time_ns);

/* Processes in the order in which they begin; the caller frees. */
uint32_t *brute_by_start(const struct trace_view *v);
