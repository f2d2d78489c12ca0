/* SPDX-License-Identifier: MIT */
/* Sums by site at certain moments, as profiles without events have them, made into slices of a trace. What happened between two
 * moments is not known: a slice's peak is the higher of its ends. For trace_maker.c, which has checked that what is named is there. */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "ledger/trace_maker.h"

struct trace_writer;

struct totals_process {
        struct trace_counts total; /* since the start; live: when the open slice began */
        struct trace_counts slice; /* in the open slice; live: now */
        bool is_over, peaks_at_end;
};

struct totals {
        struct trace_writer *writer;
        VEC(struct trace_site) sites; /* since the start */
        struct map by_key;            /* process, stack → place */
        VEC(struct totals_process) processes;
        struct totals_process all;       /* of those that are not over: live and peak */
        VEC(struct trace_site) rows;     /* scratch */
        VEC(struct trace_counts) counts; /* scratch */
};

void totals_done(struct totals *t);
void totals_add_process(struct totals *t);
void totals_end_process(struct totals *t, uint32_t process);

/* 0, or why one of them cannot be. */
int totals_check(const struct totals *t, const struct trace_maker_total *x, size_t n);

/* A slice from the moment before up to end_ns. */
void totals_put(struct totals *t, uint64_t end_ns, const struct trace_maker_total *x, size_t n);

void totals_put_checkpoint(struct totals *t);

bool totals_get_counts(const struct totals *t, uint32_t process, struct trace_counts *ret);
