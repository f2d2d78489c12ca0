/* SPDX-License-Identifier: MIT */
/* Processes that are over, as checkpoints tell of them: sums that no longer change. The trace has them already, so they are
 * kept only while there are few: from ENDED_MAX_BYTES on the recording has no further checkpoint, and a reader
 * adds up the rows of slices instead, which are about as many as such a checkpoint would have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/model.h"

struct figures;
struct inherited;
struct sites;

enum { ENDED_MAX_BYTES = 16 << 20 };

struct ended_site {
        uint32_t process, stack;
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes, n_temporary, n_reallocs;
        uint64_t n_inherited, inherited_bytes;
        uint64_t n_inherited_frees, inherited_free_bytes;
};

struct ended {
        VEC(struct ended_site) sites;
        VEC(struct trace_counts) counts;
        bool is_full; /* there were too many: nothing is kept */
};

void ended_done(struct ended *e);
size_t ended_size_bytes(const struct ended *e);

/* Everything of a site up to the open slice; of blocks that a process inherited and never touched. */
struct ended_site sites_sum(const struct sites *s, uint32_t idx);
struct ended_site inherited_sum(const struct figures *f, const struct inherited *line);

/* As a row of a checkpoint. */
struct trace_site ended_site_row(const struct ended_site *site);
