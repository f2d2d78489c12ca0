/* SPDX-License-Identifier: MIT */
/* Which snapshots a recording has, what they are called, and when the next comes by itself. Names are never given twice; the
 * recorder chooses 1, 2, 3, … for those who give none, and auto-1, … for its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/snapshot_protocol.h"

enum {
        SNAPSHOTS_MAX_AUTO = 9000,      /* the rest is for those who ask */
        SNAPSHOTS_STRETCH_AFTER = 1000, /* so many at regular intervals, then twice as long ones */
        SNAPSHOTS_GROWTH_FLOOR = 1
                                 << 20, /* bytes: growth of less than that much is not looked at */
        SNAPSHOTS_GROWTH_MIN_NS = 1000000, /* between two of them: a program that only grows */
};

/* Waits for its moment. */
struct snapshot_wish {
        char *name; /* in names */
        int caller; /* of the server; -1: nobody waits */
};

struct snapshots {
        VEC(char *) names;                       /* of all, those that wait included */
        VEC(struct snapshot_wish) next, current; /* current: of the cut under way */
        uint32_t n_numbers, n_auto;
        uint64_t every_ns, next_ns; /* 0: not at regular intervals */
        uint32_t n_every;
        double growth_pct;               /* 0: not by growth */
        uint64_t grown_bytes, growth_ns; /* live at the last snapshot, and when it was */
};

void snapshots_init(struct snapshots *m, uint64_t every_ns, double growth_pct);
void snapshots_done(struct snapshots *m);

/* A snapshot is wanted: under that name (name_bytes 0: a number). -EINVAL, -EEXIST, -ENOSPC. */
int snapshots_wish(struct snapshots *m, const char *name, size_t name_bytes, int caller,
                   struct err *reterr);
/* Whether one is due by itself; then it is wished for. *ret_is_last: there will be no more. */
bool snapshots_keep_time(struct snapshots *m, uint64_t now_ns, uint64_t live_bytes,
                         bool *ret_is_last);
/* When snapshots_keep_time is to be asked next at the latest; UINT64_MAX: never mind. */
uint64_t snapshots_due_ns(const struct snapshots *m);

/* A cut begins: those that wait are its own. Before it ends, snapshots_end. */
void snapshots_begin(struct snapshots *m);
void snapshots_end(struct snapshots *m, uint64_t time_ns, uint64_t live_bytes);
