/* SPDX-License-Identifier: MIT */
/* The events of one slice, applied one by one to a state: for windows whose edge cuts the slice.
 * Inside query/ only. */
#pragma once

#include "query/site_state.h"

/* What an heir counts from a release by another on, because it has most of the call path now. */
struct replay_gain {
        uint32_t process;
        uint64_t bytes, blocks;
};

struct replay_step {
        uint64_t number; /* of this step in the slice: events and forks, from 0 */
        uint64_t time_ns;
        uint32_t process;                /* that changed */
        const struct trace_event *event; /* NULL: the process began, with what it inherited */
        size_t event_idx; /* of the event in the slice, or of the one before which the process began */
        bool is_heritage; /* no event either: blocks of a process that is over passed on to it */
        /* of all processes together, where inherited_load has run: how many blocks it counts more, or less */
        int64_t own_bytes, own_blocks;
        uint64_t gone_bytes,
                gone_blocks; /* of a release: how many fewer it counts, the new block not counted */
        const struct replay_gain *gains; /* of a release: how many more others count at once */
        size_t n_gains;
};
typedef void (*replay_fn)(void *ctx, const struct state *s, const struct replay_step *step);

struct replay_limits {
        uint64_t before_ns; /* only events earlier than this */
        uint64_t n_steps;   /* and no more steps than this */
        uint64_t
                seen_from_ns; /* states before this are not looked at; before_ns: only the last one is */
        bool skip_temporary; /* n_temporary is not needed: spares looking for the allocations of earlier slices */
};

/* s is the state when the slice begins; fn (NULL ok) is called after each step. False, with s
 * unchanged, when the slice's events are missing. Where states that are looked at cannot be told from events and rows, the
 * query's inherit.is_unsure is set. */
bool replay_slice(struct query *q, struct state *s, size_t slice_idx,
                  const struct replay_limits *limits, replay_fn fn, void *ctx);
