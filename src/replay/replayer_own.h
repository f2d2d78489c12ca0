/* SPDX-License-Identifier: MIT */
/* Memory of silt-replay itself: shared mappings, which the kernel counts apart from what is measured. Inside replay/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed; NULL: there is no more. */
void *own_map(size_t size_bytes);
void own_unmap(void *p, size_t size_bytes);

/* Blocks by slot: 16 bytes each, in chunks that are mapped as numbers rise. */
struct own_block {
        char *address; /* NULL: the slot is empty */
        uint64_t size_bytes;
};

enum { OWN_CHUNK_SLOTS = 1 << 16, OWN_N_CHUNKS = 1 << 14 };

struct own_blocks {
        struct own_block *chunks[OWN_N_CHUNKS];
};

/* NULL: no memory for it. */
static inline struct own_block *own_block_known(struct own_blocks *b, uint32_t slot) {
        struct own_block *chunk = b->chunks[slot / OWN_CHUNK_SLOTS];

        return chunk ? &chunk[slot % OWN_CHUNK_SLOTS] : NULL;
}
struct own_block *own_block_at(struct own_blocks *b, uint32_t slot);

/* The real time, whatever clock_gettime says to the allocator. */
uint64_t own_now_ns(void);
/* What clock_gettime tells from now on, since the start of the replay; UINT64_MAX: the truth. */
void own_set_clock(uint64_t since_start_ns);
