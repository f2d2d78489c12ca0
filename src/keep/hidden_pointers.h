/* SPDX-License-Identifier: MIT */
/* A program may have pointers that no word of its memory shows: mixed with a key, with tags in high bits, as offsets, kept by the kernel. Which
 * of the blocks that count as lost look as if somebody had one. */
#pragma once

#include "keep/kept_leaks.h"

struct hidden_pointers {
        uint64_t n_freed_later; /* lost blocks that were freed all the same; at least so many */
        uint64_t
                n_in_use; /* others of call paths of which none that is live is pointed to, though such blocks are freed */
};

/* until: the process until the graph. */
void hidden_pointers_find(const struct kept_leaks *l, struct query *q,
                          const struct query_answer *until, struct hidden_pointers *ret);
