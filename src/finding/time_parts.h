/* SPDX-License-Identifier: MIT */
/* What time was spent on: the program's own work, the allocator, page faults, system calls, waiting for locks, silt itself. Each call
 * path is one of them, told by the names on it; of each the functions that caused it.
 *
 *   scope.of_time = QUERY_CPU_TIME;
 *   time_parts_gather(q, names, &scope, &parts, &err);
 *   parts.of[TIME_IN_ALLOCATOR].ns, parts.of[TIME_IN_ALLOCATOR].causes[0].frame … */
#pragma once

#include "base/err.h"
#include "name/name.h"
#include "query/query.h"

enum time_part_kind {
        TIME_IN_PROGRAM, /* and in its libraries; of blocked time: any wait but for a lock */
        TIME_IN_ALLOCATOR,
        TIME_IN_LOCKS,  /* to get one */
        TIME_IN_FAULTS, /* in the kernel: pages are touched for the first time, or were taken away */
        TIME_IN_CALLS,  /* in the kernel: system calls */
        TIME_IN_KERNEL, /* in it for another reason, or where its functions have no names */
        TIME_IN_SILT,   /* recording allocations */
        TIME_IN_HIDDEN, /* in the kernel by its own count: samples of it are not permitted */
        TIME_UNSAMPLED, /* no call path: between two samples, or nobody looked */
        TIME_N_PARTS,
};

/* Who is behind it: the code that called the allocator, took the lock, touched the page. */
struct time_cause {
        struct query_frame frame; /* blank: nobody is known */
        uint64_t ns, n_samples;
        uint32_t stack; /* a call path with most of it */
        uint64_t stack_ns;
        const char *through; /* what it called for it: "read", "pthread_mutex_lock"; "" unknown */
        bool is_mixed;       /* it called others as well: most of it is of that path */
};

struct time_part {
        uint64_t ns, n_samples;
        struct time_cause *causes; /* most first */
        size_t n_causes;
};

/* The function that most of it was spent in itself; the kernel and silt aside. What is inlined into it from libraries that only pass on (name_kind) is its own: the
 * program's function, not its "wrapping_add". */
struct time_hot {
        struct query_frame frame;
        bool is_task;
        bool is_made; /* no function: all code without names that was made while the program ran, a JIT compiler's */
        uint64_t self_ns, n_samples;
        uint64_t inlined_ns;      /* of these in such functions, */
        struct query_frame inner; /* in which of them most; blank: there is none */
        uint64_t inner_ns;
        uint64_t total_ns; /* with all that it called */
        struct query_frame
                caller; /* that called it most, libraries that pass on aside; blank: nobody did */
        uint64_t caller_ns;
        struct query_frame host; /* it is inlined into; blank: it is not */
        uint32_t stack;
};

struct time_parts {
        struct query_answer *answer;
        uint64_t ns, n_samples; /* of all of it */
        struct time_part of[TIME_N_PARTS];
        bool has_hot;
        struct time_hot hot;
};

/* scope: of_time is set. */
int time_parts_gather(struct query *q, struct names *names, const struct query_scope *scope,
                      struct time_parts *ret, struct err *reterr);
void time_parts_done(struct time_parts *p);
