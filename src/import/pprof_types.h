/* SPDX-License-Identifier: MIT */
/* What the values of a pprof profile's samples are: the sums of memory that silt knows, or one other weight. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "import/import_trace.h"

enum pprof_value {
        PPROF_N_ALLOCS,
        PPROF_ALLOC_BYTES, /* or the weight */
        PPROF_N_LIVE,
        PPROF_LIVE_BYTES,
        N_PPROF_VALUES,
};

struct pprof_type {
        const char *name, *unit; /* "inuse_space", "bytes" */
};

struct pprof_values {
        int place_of[N_PPROF_VALUES];      /* in a sample; -1: it has none */
        uint64_t scale_of[N_PPROF_VALUES]; /* bytes or ns in one of the file's unit */
        enum trace_unit unit;
        bool lacks_blocks;   /* one sum alone */
        bool is_weight;      /* not of memory that silt knows */
        bool counts_samples; /* the weight's are in the place of PPROF_N_ALLOCS */
};

/* wanted: the user's choice, refused if it is not there; by_default: the file's own, for which another is taken. Either may be "". */
int pprof_values_choose(struct pprof_values *v, const struct pprof_type *types, size_t n_types,
                        const char *wanted, const char *by_default, const char *path,
                        struct err *reterr);
bool pprof_values_has_allocs(const struct pprof_values *v);
bool pprof_values_has_live(const struct pprof_values *v);
/* What the figures are, and which of the file's are left out. */
void pprof_values_tell(const struct pprof_values *v, const struct pprof_type *types, size_t n_types,
                       struct import_trace *t);
