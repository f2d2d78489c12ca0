/* SPDX-License-Identifier: MIT */
/* How old blocks are. They keep their time modulo 16.7 s, so older ones would seem young. Numbers rise with time: those of blocks that are
 * older than an era, and maybe older than that, are below old_seq. Part of pairing.c. */
#pragma once

#include "pipeline/pairing.h"

/* Two of them are less than the 16.7 s that a block's time takes to come round, and one is the last bucket of
 * lifetimes. */
#define PAIR_ERA_NS ((BLOCK_MAX_AGE_US + 1) / 4 * 1000)

static inline void pair_begin_era(struct pair *p) {
        bool is_long_past = p->now_ns - p->era_end_ns >= PAIR_ERA_NS; /* and nothing came since */

        p->old_seq = is_long_past ? p->next_seq : p->era_seq;
        p->era_seq = p->next_seq;
        p->era_end_ns = is_long_past ? p->now_ns + PAIR_ERA_NS : p->era_end_ns + PAIR_ERA_NS;
}

/* At most BLOCK_MAX_AGE_US, which then stands for all that is older than an era. */
static inline uint64_t pair_age_us(const struct pair *p, const struct block *b) {
        return unlikely(block_seq(b) < p->old_seq) ? BLOCK_MAX_AGE_US
                                                   : block_age_us(b, p->now_ns / 1000);
}
