/* SPDX-License-Identifier: MIT */
/* Resident memory, from the samples. Inside query/ only. */
#pragma once

#include "query/query.h"

/* The highest sample of each process in the window (processes: one each), and of the sum of all processes alive. */
int rss_find_peaks(struct query *q, const struct query_scope *w, struct query_totals *processes,
                   uint64_t *ret_all, struct err *reterr);

/* The most of silt's own memory that processes alive at once had together. */
uint64_t rss_runtime_peak(const struct query *q, const struct query_totals *processes);
