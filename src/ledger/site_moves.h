/* SPDX-License-Identifier: MIT */
/* Blocks released by another thread, and blocks that were replaced by larger ones: sums by site for the open slice
 * (docs/trace-format.md, "Moves"). Rare beside allocations and releases, so only sites that have some take room. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "trace/model.h"

struct moves {
        VEC(struct trace_move) rows; /* of the open slice */
        VEC(uint32_t) owners;        /* the sites of the same rows, as site_figures.h counts them */
        /* by site: its place in rows, if that is owned by it. Never cleared: a wrong guess shows itself */
        VEC(uint32_t) place;
};

void moves_done(struct moves *m);
void moves_clear(struct moves *m);
size_t moves_size_bytes(const struct moves *m);

/* The sums of a site; NULL when it has none yet. */
static inline struct trace_move *moves_find(const struct moves *m, uint32_t site) {
        uint32_t place;

        if (unlikely(site >= m->place.n))
                return NULL;
        place = m->place.items[site];
        return likely(place < m->rows.n && m->owners.items[place] == site) ? &m->rows.items[place]
                                                                           : NULL;
}

/* Then adds them, all zero; process, stack: of the trace. */
struct trace_move *moves_add(struct moves *m, uint32_t site, uint32_t process, uint32_t stack);
