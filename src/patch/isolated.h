/* SPDX-License-Identifier: MIT */
/* Reads files that may be anything in a process of its own: what crashes, hangs or eats memory there ends that process, and
 * the file counts as one that cannot be read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct isolated_limits {
        uint64_t time_ms;      /* for all together: by the clock, and of CPU time */
        uint64_t memory_bytes; /* beyond what the caller has */
};

extern const struct isolated_limits isolated_limits_usual;

/* Zeroed memory that both have; NULL: there is none. */
void *isolated_share(size_t n_bytes);
void isolated_unshare(void *shared, size_t n_bytes);

/* fn(ctx, 0), fn(ctx, 1), … fn(ctx, n - 1), all in a child, which can only change what is shared; another takes its place when it
 * dies. ret_done[i]: fn came back from i. What it left in shared memory may be anything. False: the time ran out, which tells
 * nothing about what was not done: the machine may be busy. */
bool isolated_run(size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                  const struct isolated_limits *limits, bool *ret_done);

/* The same in two steps: the child reads while the caller does other things. Time counts from the first. */
struct isolated_work {
        size_t n;
        void (*fn)(void *ctx, size_t i);
        void *ctx;
        const struct isolated_limits *limits;
        uint64_t end_ms;
        _Atomic uint64_t *at; /* how far it came: shared */
        size_t first;         /* of the child at hand */
        pid_t pid;            /* 0: there is none */
        int end_fd;           /* closed on the other side when it has ended */
};
void isolated_begin(struct isolated_work *w, size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                    const struct isolated_limits *limits);
bool isolated_end(struct isolated_work *w, bool *ret_done);
