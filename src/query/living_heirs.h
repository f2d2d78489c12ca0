/* SPDX-License-Identifier: MIT */
/* Which processes may still release a copy of a block that its allocator has released: their
 * records must be kept that long. Inside query/ only. */
#pragma once

#include "base/vec.h"
#include "query/query.h"

struct heir {
        uint32_t process;
        uint64_t fork_seq; /* it inherited only blocks with lower numbers */
};

struct heir_family {
        VEC(struct heir) heirs; /* children that live, or have heirs themselves */
        uint64_t below_seq;     /* the highest fork_seq among them, 0: none */
        bool has_begun, has_ended;
};

struct living_heirs {
        const struct query *q;
        struct heir_family *families; /* one a process */
        uint32_t *by_start, *by_end;  /* processes in the order of their moments */
        size_t n_begun, n_ended;
};

void living_heirs_init(struct living_heirs *h,
                       const struct query *q); /* inherited_load must have run */
void living_heirs_done(struct living_heirs *h);

/* Lets processes begin and end up to time_ns; `also` (its event is here) has begun. next_seq: of the
 * next allocation. True when a process ended. */
bool living_heirs_advance(struct living_heirs *h, uint64_t time_ns, uint32_t also,
                          uint64_t next_seq);

/* Blocks of the process with lower numbers may be inherited by someone alive; 0: none. */
static inline uint64_t living_heirs_below_seq(const struct living_heirs *h, uint32_t process) {
        return h->families[process].below_seq;
}
