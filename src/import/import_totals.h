/* SPDX-License-Identifier: MIT */
/* Sums by call path at the moments of a trace, on their way from a source to the trace maker, which wants them to rise. For import_trace.c.
 *
 * Estimates are rounded, or scaled by a mean that changes, each for itself: what was ever allocated may fall by that from one moment to the
 * next. What is live stays as the source says, and what was allocated and freed counts up from the moment before. Sums that fall by more
 * than chance are not of one program in that order: refused. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "import/import_trace.h"
#include "ledger/trace_maker.h"

struct total_state {
        struct import_total sum; /* what the maker has */
        struct import_total next;
        uint32_t stack;
        bool is_named; /* in the moment to come */
};

struct import_totals {
        struct map total_of; /* stack → index in states */
        VEC(struct total_state) states;
        VEC(struct trace_maker_total) put;
        uint64_t sample_bytes; /* mean distance of samples; up to 1: sums are exact */
        double alloc_bytes;    /* of all, in the moment before, as the source had them */
        uint64_t n_raised;     /* sums that fell */
        uint64_t n_paired;     /* sums of bytes that came without a block */
        bool uses_live;
};

void import_totals_done(struct import_totals *t);
int import_totals_add(struct import_totals *t, uint32_t stack, const struct import_total *total);
int import_totals_add_live(struct import_totals *t, uint32_t stack, uint64_t n_blocks,
                           uint64_t live_bytes);
/* What is put for the moment, with what was added since the one before. False: they fall. */
bool import_totals_make(struct import_totals *t, uint32_t process);
