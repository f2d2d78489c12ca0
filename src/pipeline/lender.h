/* SPDX-License-Identifier: MIT */
/* Which slot has which chunks. Chunks not lent lie on a list in the recorder's own memory; they get memory
 * behind them in steps, when first needed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "pipeline/pipeline.h"
#include "wire/ring_reader.h"

struct lender {
        const struct pipeline_calls *calls;
        VEC(uint32_t) idle; /* backed and not lent; the latest returned on top, it is warm */
        uint32_t n_chunks;  /* of the arena */
        uint32_t n_backed, n_lent;
        uint32_t max_chunks;            /* beyond it a slot gets its first chunk, but no second */
        bool is_dry;                    /* backing failed: no more is tried */
        struct wire_patience *patience; /* the arena's; NULL: none */
};

void lender_init(struct lender *l, const struct pipeline_calls *calls, uint32_t n_chunks,
                 uint32_t max_chunks);
void lender_done(struct lender *l);

/* Lends until the ring holds `want` chunks, unread ones included; wakes its thread when that helps. */
void lender_fill(struct lender *l, struct ring_reader *r, struct wire_slot *slot, uint32_t want);

/* Takes back the chunks between two read positions. */
void lender_take_back(struct lender *l, const struct ring_reader *r, uint64_t old_read_pos);

/* The slot has no thread: takes everything back and sets its positions to 0. */
void lender_reset(struct lender *l, struct ring_reader *r, struct wire_slot *slot);

/* True while half of what may be lent is still there: hot rings may grow. */
bool lender_has_plenty(const struct lender *l);

/* Enough for rings that nobody uses yet. */
bool lender_has_spare(const struct lender *l);
