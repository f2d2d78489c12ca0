/* SPDX-License-Identifier: MIT */
/* For tests: every copy of every block in every process, written down with when it was there. brute_filter.c adds it up. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/testing/brute_filter.h"

/* One block in one process: its allocator's, or a child's that inherited it. */
struct copy {
        uint64_t seq, size_bytes, begin_ns;
        uint32_t stack, thread, process, owner; /* owner: the process that allocated it */
        uint64_t born_ns;                       /* here: allocation, or fork */
        uint64_t born_step, died_step;          /* steps count from 1 */
        uint64_t died_ns;                       /* UINT64_MAX: never */
        size_t place;                           /* in the process's live */
        bool by_realloc, is_temporary;
};

struct process_state {
        bool has_begun, is_dead, inherits;
        VEC(size_t) live;  /* indices of copies */
        struct map copies; /* seq → index of the copy + 1 */
        uint64_t bytes, own_bytes;
        uint64_t seen_ns;          /* where the slice begins whose rows have what it inherited */
        uint64_t inherited_sum;    /* of these rows: sum_of */
        VEC(struct copy) heritage; /* what its parent had when the sum was this */
        bool has_heritage;
};

/* After a step: what one process holds, and all together. */
struct step {
        uint64_t time_ns, bytes, all_bytes;
        uint32_t process;
};

struct lost {
        uint64_t time_ns, n;
        uint32_t process;
};

struct brute_lives {
        struct trace_reader *t;
        const struct trace_view *v;
        struct process_state *processes;
        uint32_t *by_start; /* the order in which they begin */
        uint64_t *last_seq;
        VEC(struct copy) copies;
        VEC(struct step) steps; /* [0] is before everything */
        VEC(struct lost) lost;
};
