/* SPDX-License-Identifier: MIT */
/* What of a program's memory was in use: looks at the pages of large blocks, and at the resident memory of processes. A part of
 * query/query.h, which includes it. */
#pragma once

#include "query/query.h"

/* Large blocks of one call path that were alive at one look of the recorder at their pages. */
struct query_look {
        uint64_t at_ns, n_blocks, bytes;
        uint64_t
                touched_bytes; /* in pages that this look or an earlier one found in memory or in swap */
};

/* What looks at the pages of large blocks (TRACE_LARGE_BLOCK_BYTES and more) showed of one call path. "Touched" is never
 * too little but for pages that were given back before any look saw them, and for blocks touched between their
 * last look and their release; it is too much where the kernel hands out large pages, where a block's pages were
 * touched by an earlier block, and for the page of the allocator's own header. docs/query.md. */
struct query_residency {
        uint32_t process, stack;
        struct query_look peak; /* when most bytes were alive; of equal looks the last */
        struct query_look last;
        uint64_t max_touched_bytes; /* touched and alive at once, at most, at any look */
        /* every block that was ever looked at, once, as its last look found it */
        uint64_t seen_blocks, seen_bytes, seen_touched_bytes;
};

/* Of the most that was alive at once, so much was not touched at any look. */
static inline uint64_t query_residency_slack_bytes(const struct query_residency *r) {
        return r->peak.bytes > r->max_touched_bytes ? r->peak.bytes - r->max_touched_bytes : 0;
}

/* Call paths of each process of the scope, from looks before its to_ns, most slack first; of its filter, conditions on
 * call path and process count. None: no large block lived long enough for a look, or none could be made. */
int query_residency(struct query *q, const struct query_scope *scope, struct query_residency **ret,
                    size_t *ret_n, struct err *reterr);

/* Resident memory that belongs to no file, of one process, by its samples. */
struct query_anon {
        size_t n_samples;
        uint64_t first_bytes, peak_bytes, peak_ns;
        uint64_t last_ns; /* of the last sample: it was alive then */
};
int query_anon(struct query *q, uint32_t process, struct query_anon *ret, struct err *reterr);

/* What was resident when most was, of those moments that were looked at: of one process, or of all together (what they share
 * counts in each). */
struct query_resident {
        size_t n_samples; /* 0: nobody looked */
        uint64_t anon_bytes, file_bytes, shmem_bytes;
};
static inline uint64_t query_resident_bytes(const struct query_resident *r) {
        return r->anon_bytes + r->file_bytes + r->shmem_bytes;
}
int query_resident(struct query *q, const struct query_scope *scope, struct query_resident *ret,
                   struct err *reterr);

/* Looks at the memory and CPU time of processes, in order of time. */
int query_samples(struct query *q, const struct trace_sample **ret, size_t *ret_n,
                  struct err *reterr);

/* ---- what the program mapped itself ------------------------------------------------------------ */

struct query_mapping {
        uint32_t stack;
        uint64_t n_calls, mapped_bytes; /* in the window */
        uint64_t peak_bytes,
                end_bytes; /* mapped at once by this stack at most; mapped at the end */
        uint64_t
                reserved_bytes; /* at once at most, of what may not be touched: addresses, no memory */
};
/* Of all together. */
struct query_mapped {
        uint64_t peak_bytes, end_bytes; /* what is only reserved included */
        uint64_t reserved_peak_bytes, reserved_end_bytes;
        uint64_t usable_peak_bytes; /* without it */
        uint64_t anon_peak_bytes;   /* without what is of files, too */
        bool has_protects;          /* calls are known that make memory of what was only reserved */
};
int query_mappings(struct query *q, const struct query_scope *scope, struct query_mapping **ret,
                   size_t *ret_n, struct query_mapped *ret_sum, struct err *reterr);

/* What a process has mapped itself at a moment: by address, without overlap. Inherited ranges are among them. */
struct query_mapped_range {
        uint64_t begin, end;
        uint32_t stack;
        bool is_reserved; /* nobody may touch it */
};
int query_mapped_ranges(struct query *q, uint32_t process, uint64_t time_ns,
                        struct query_mapped_range **ret, size_t *ret_n, struct err *reterr);
