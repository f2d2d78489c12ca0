/* SPDX-License-Identifier: MIT */
/* Where a trace comes from, and what is unknown therefore. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/model.h"
#include "trace/reader.h"

/* A profile of another tool, made a trace by `silt import`. */
static inline bool origin_is_import(const struct trace_meta *m) {
        return m->flags & TRACE_IS_TOTALS || (m->silt_version[0] && !m->host[0] && !m->cwd[0]);
}

/* Whether processes have pids: most other tools tell none, and then there is one process. 0 is a pid, that of idle CPUs. */
static inline bool origin_knows_pids(const struct trace_meta *m) {
        return m->pid != 0;
}

/* Whether what threads did is known: `silt import` gives the first one no number where the source tells none. */
static inline bool origin_knows_threads(const struct trace_view *v) {
        return !origin_is_import(&v->meta) || (v->n_threads && v->threads[0].start.tid);
}

/* Whether a sum of reallocations over all of the recording is one: not all tools tell them apart, and then none is there. */
static inline bool origin_counts_reallocs(const struct trace_meta *m, uint64_t n_in_all) {
        return n_in_all || !origin_is_import(m);
}

/* Whether call paths and blocks tell what realloc made. n_in_all: how many all of the recording has. */
static inline bool origin_knows_reallocs(const struct trace_meta *m, uint64_t n_in_all) {
        return !(m->flags & (TRACE_IS_TOTALS | TRACE_IS_SAMPLED)) &&
               origin_counts_reallocs(m, n_in_all);
}
