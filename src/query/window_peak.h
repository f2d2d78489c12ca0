/* SPDX-License-Identifier: MIT */
/* When live bytes were highest in a window, for each process and for all together.
 * Inside query/ only. */
#pragma once

#include "query/site_state.h"

enum peak_place {
        PEAK_AT_BEGIN, /* the window begins at its highest */
        PEAK_IN_SLICE, /* the rows of a whole slice know it */
        PEAK_AT_STEP,  /* after a step of replaying a slice that the window cuts */
};

struct peak {
        uint64_t bytes, blocks, time_ns;
        enum peak_place place;
        size_t slice_idx;
        uint64_t step;
};

/* peaks has one entry a process and one more for all of them together, which is filled only when
 * want_all (inherited_load must have run). begin is the state at from_ns. The earliest of equal
 * peaks counts. */
void peak_find(struct query *q, const struct state *begin, uint64_t from_ns, uint64_t to_ns,
               bool want_all, struct peak *ret_peaks);

/* That of the scope's process alone, or of all together; filters do not matter. */
void peak_of_scope(struct query *q, const struct query_scope *scope, struct peak *ret_peak);

/* Live blocks and bytes by site at a peak: calls fn for each site with any, of `process` or
 * (QUERY_ALL) of the processes alive at the moment, own blocks only. */
typedef void (*peak_site_fn)(void *ctx, uint32_t process, uint32_t stack, int64_t bytes,
                             int64_t blocks);
void peak_each_site(struct query *q, const struct state *begin, const struct peak *peak,
                    uint32_t process, peak_site_fn fn, void *ctx);

/* A place among the events of the trace: pos_before an event, when children begin, or pos_after it.
 * What happens at one is there from it on. */
static inline uint64_t pos_before(size_t slice_idx, size_t event_idx) {
        return (uint64_t)slice_idx << 32 | (uint32_t)(2 * event_idx);
}

static inline uint64_t pos_after(size_t slice_idx, size_t event_idx) {
        return pos_before(slice_idx, event_idx) + 1;
}

/* Where among the events a peak of `process` (QUERY_ALL: of all together) is that is not at the window's begin. False when
 * the events do not tell. *ret_is_fork: it is the process's begin, with what it inherited. */
bool peak_locate(struct query *q, const struct peak *peak, uint32_t process, uint64_t *ret_pos,
                 bool *ret_is_fork);
