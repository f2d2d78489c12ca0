/* SPDX-License-Identifier: MIT */
/* Memory for the many small segments of the live tables: pieces of 1 to SLAB_MAX_UNITS units, cut from regions of
 * large pages. With ordinary pages every second look-up in a table of 250,000 blocks would also wait for its
 * page's translation.
 *
 * Pieces move. The segments of a table grow at the same time, each to the next size, and what they leave lies scattered
 * between those that have not grown yet. So pieces of one size lie side by side without holes: when one is
 * freed, the last of its size takes its place, and the pointer to it, which is known, is set anew. Memory that a size has
 * no more use for serves the others. Only slab_free moves anything. Owner: the recorder's main thread. */
#pragma once

#include <stddef.h>

enum { SLAB_UNIT_BYTES = 512, SLAB_MAX_UNITS = 16 };

/* Zeroed, aligned to cache lines; *place points to it from now on, wherever it moves. More than SLAB_MAX_UNITS come from
 * malloc and stay. */
void slab_alloc(size_t n_units, void **place);
/* The pointer to it is now this one; the piece is *place already. */
void slab_set_place(size_t n_units, void **place);
void slab_free(void *piece, size_t n_units); /* NULL ok */

size_t slab_size_bytes(void); /* all that was ever taken for pieces; it stays */
