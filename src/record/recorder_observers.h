/* SPDX-License-Identifier: MIT */
/* The table of what the recorder does by the clock (observer.h). A part of the recorder.
 *
 * To add one: a file with its function, a name here, a row in the table. */
#pragma once

#include "record/recorder_state.h"

/* In the order in which they run. */
enum recorder_observer {
        OBSERVER_SAMPLE,
        OBSERVER_LOOK,
        OBSERVER_COST,
        OBSERVER_BUDGET,
        OBSERVER_YOUNG,
        OBSERVER_TICKS,
        OBSERVER_SLICE,
        OBSERVER_SNAPSHOTS,
        OBSERVER_GRAPH_SCHEDULE, /* before it: what it wants begins in the same round */
        OBSERVER_GRAPHS,
        OBSERVER_BILLS,
        OBSERVER_DEADLINE,
        OBSERVER_LEAVE,
        OBSERVER_TERM,
        OBSERVER_N,
};

void recorder_init_observers(struct recorder *r);

/* A handler of SIGTERM. */
void recorder_catch_term(void);

/* What each took: --log. */
void recorder_log_observers(const struct recorder *r);
