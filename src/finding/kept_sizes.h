/* SPDX-License-Identifier: MIT */
/* Of which sizes the blocks are that some rows keep: a mean of large ones and small ones is the size of none. Inside finding/ only. */
#pragma once

#include "finding/facts.h"

struct kept_sizes {
        const char *
                text; /* "1,000 blocks of 4.0 KiB and 1,000 of 24 B to 40 B"; NULL: of about one size, or not known */
        bool is_wide; /* not all of about one size, and no few groups either */
};

/* Allocated in [from_ns, end_ns] and still there at its end, of the rows marked. Reads all events. */
void kept_sizes_find(struct facts *f, const bool *is_of, uint64_t from_ns, uint64_t end_ns,
                     struct kept_sizes *ret);
