/* SPDX-License-Identifier: MIT */
/* Memory for the many small segments of the live tables: pieces of 1 to SLAB_MAX_UNITS units, cut from regions of
 * large pages. With ordinary pages every second look-up in a table of 250,000 blocks would also wait for its
 * page's translation. A map of units says what is free: the segments of a table grow at the same time, so
 * what they leave must join to serve the next size. Regions stay. Owner: the recorder's main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SLAB_UNIT_BYTES = 512, SLAB_MAX_UNITS = 16 };

/* Zeroed, aligned to cache lines. More than SLAB_MAX_UNITS come from malloc. */
void *slab_alloc(size_t n_units);
void slab_free(void *piece, size_t n_units); /* NULL ok */
