/* SPDX-License-Identifier: MIT */
/* Inside attach/ only. Of an arena of a jemalloc 5.3.0 what is not in its blocks: pages that it keeps, and its own memory. All of it adds up to sums that it keeps
 * beside, or nothing is told. */
#pragma once

#include "attach/jemalloc_tables.h"
#include "attach/memory.h"

struct jemalloc_pages {
        uint64_t dirty_bytes;        /* kept after use, as they were */
        uint64_t retained_bytes;     /* addresses that it kept, and gave the memory of back */
        uint64_t own_bytes;          /* its stats.metadata */
        uint64_t own_resident_bytes; /* of what that was cut from, as it counts */
};

struct jemalloc_image {
        const uint8_t *bytes; /* of the arena, from its begin */
        size_t active_off;    /* of the number of active pages: what is wanted lies behind it */
        size_t bins_off;      /* and before its bins */
        uint64_t base;        /* where its base is */
        uint32_t mutex_bytes;
};

bool jemalloc_pages_read(struct memory_words *w, const struct jemalloc_tables *t,
                         const struct jemalloc_image *image, struct jemalloc_pages *ret);
