/* SPDX-License-Identifier: MIT */
/* Inherited blocks in a slice that is replayed, all processes together: whose copies count from when on. Events say who released
 * a copy, the rows how many of a site's inherited blocks ceased to count elsewhere in the slice: by releases of copies
 * that did not count here, or because they count here now. A release never makes the sum of all larger, and from one
 * to the next it falls by what the rows say: by nothing, where they leave nothing out, and in one step, where there is but
 * one. In other cases no one knows between the first release and the last. Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/replay.h"

/* Of one site: how many that did count elsewhere are still to come, and how many releases of its copies. */
struct replay_share {
        uint32_t process, stack;
        uint64_t n, bytes;
        uint64_t n_released, released_bytes;
        size_t next; /* of the same call path, plus 1 */
};

/* A call path with shares. */
struct replay_path {
        size_t first;               /* of its shares, plus 1 */
        int64_t n_less, less_bytes; /* by how much all count less of it at the slice's end */
        uint64_t n_releases, first_ns, last_ns;
};

struct replay_shares {
        struct query *q;
        bool is_on;                     /* the rows tell */
        VEC(struct replay_share) items; /* by process, then releases by others */
        VEC(struct replay_path) paths;
        struct map share_of;           /* (process << 32 | stack) → its place in items */
        struct map path_of;            /* stack → its place in paths */
        VEC(struct replay_gain) gains; /* of the release at hand */
        struct state *s;
        uint64_t end_ns; /* of the slice */
        uint64_t first_end_ns,
                last_end_ns; /* of processes in the slice; UINT64_MAX, 0: none ended */
        bool goes_on;        /* and something happened after the first of them */
};

void shares_done(struct replay_shares *h);
/* Takes the rows of a slice, then its events. */
void shares_add_row(struct replay_shares *h, const struct trace_site *row);
void shares_add_events(struct replay_shares *h, const struct trace_slice_info *info,
                       const struct trace_event *events, size_t n);

/* Sets inherit.is_unsure where one of the states from seen_from_ns up to before_ns cannot be told. */
void shares_check(const struct replay_shares *h, const struct replay_limits *limits);

/* A copy is released: how much of it counted elsewhere. Who counts it from now on is in `gains`, and in the state. */
void shares_release(struct replay_shares *h, uint32_t process, uint32_t stack, uint64_t *n,
                    uint64_t *bytes);

/* When the rest passed on: at the last end of a process, if nothing happened after it. */
uint64_t shares_heritage_ns(const struct replay_shares *h, const struct trace_slice_info *info);
