/* SPDX-License-Identifier: MIT */
/* Which single blocks a filter selected, remembered from the pass over the events that found them: a bit for each
 * allocation. Who asks about the same scope again (a timeline after totals) needs no second pass. Inside query/ only. */
#pragma once

#include "query/block_life.h"

struct chosen {
        struct query_scope scope;
        uint64_t serial; /* of the filter; 0: nothing is remembered */
        uint64_t *bits;  /* by sequence number */
        uint64_t n_bits;
        int64_t *
                begin_bytes; /* of each process: selected bytes live at from; all processes: its own */
        int64_t inherited; /* one process that begins in the window: selected bytes it begins with */
};

/* What is remembered for this scope; NULL: nothing. */
const struct chosen *chosen_find(const struct query *q, const struct query_scope *scope);

/* Call order: begin → add each life of the scope → end. */
struct chosen *chosen_begin(struct query *q);
void chosen_add(struct chosen *c, const struct query_life *l, const struct query_scope *scope);
void chosen_end(struct chosen *c, const struct query_scope *scope);
void chosen_free(struct chosen *c); /* NULL ok */

static inline bool chosen_has(const struct chosen *c, uint64_t seq) {
        return seq < c->n_bits && (c->bits[seq / 64] >> seq % 64 & 1);
}
