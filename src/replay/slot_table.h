/* SPDX-License-Identifier: MIT */
/* Numbers for live blocks, as small as they get: those of freed blocks are used again. Inside replay/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct slot_entry {
        uint64_t key; /* seq + 1; 0: empty */
        uint32_t slot;
};

struct slot_table {
        struct slot_entry *entries; /* open addressing; removal moves what follows back */
        size_t n, cap;              /* cap is 0 or a power of two */
        VEC(uint32_t) freed;
        uint32_t n_slots; /* ever in use at once */
};

/* Of a new block. */
uint32_t slot_table_add(struct slot_table *t, uint64_t seq);
/* Takes the block out; false: it is not there. Its number may be given to the next one at once. */
bool slot_table_remove(struct slot_table *t, uint64_t seq, uint32_t *ret_slot);
/* The block goes on as another one with the same number; false: it is not there. */
bool slot_table_replace(struct slot_table *t, uint64_t old_seq, uint64_t seq, uint32_t *ret_slot);
void slot_table_done(struct slot_table *t);
