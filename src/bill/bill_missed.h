/* SPDX-License-Identifier: MIT */
/* Memory that a process had while nobody looked what it was made of: samples, and the kernel's own high-water mark, know of it. Inside bill/ only. */
#pragma once

#include "bill/bill_series.h"

struct bill_missed {
        bool is_any;
        uint32_t process;
        uint64_t
                seen_bytes; /* resident at its largest look of the window, or at the moment's; 0: there is none. Without silt's own, as the next */
        uint64_t most_bytes; /* resident */
        uint64_t at_ns;      /* of the sample; 0: unknown */
};

/* Of a window: the process that had most more than at its largest look. from_ns 0, to_ns behind the end: all of the recording. */
void bill_find_missed(const struct bill_series *s, struct query *q, uint32_t process,
                      uint64_t from_ns, uint64_t to_ns, struct bill_missed *ret);

/* Of a moment: what a sample near to it knows, where the bill's is of another. */
void bill_find_missed_then(const struct bill_series *s, struct query *q,
                           const struct bill_moment *m, uint64_t asked_ns, struct bill_missed *ret);

/* Processes that ran at a moment of several, and that have no bill at all. */
struct bill_unlooked {
        uint64_t n_alive; /* all that ran then */
        uint64_t n;       /* of these */
        uint64_t n_known; /* of those a sample knows how much they had */
        uint64_t anon_bytes;
        bool is_material;
};
void bill_find_unlooked(const struct bill_series *s, struct query *q, const struct bill_moment *m,
                        struct bill_unlooked *ret);

/* " Not in it are 3 processes that silt did not look at: they had 450.0 MiB of their own.", or nothing. */
void bill_add_unlooked(const struct bill_unlooked *u, struct str *to);

/* " It had 191.0 MiB at most: silt did not look then.", or nothing. */
void bill_add_missed(const struct bill_missed *m, const struct query *q, bool is_only,
                     bool is_moment, struct str *to);
