/* SPDX-License-Identifier: MIT */
/* How far the snapshots of a run are in the spool, or were: a small file beside them, so that whoever goes on after a restart takes
 * none twice. Inside fleet/ only. */
#pragma once

#include "fleet/batch.h"

struct push_mark {
        uint64_t last_ms; /* moment of the last; 0: none */
        bool is_done;     /* the recording ended with it */
};

/* As it is when there is none, or none that can be read: then they are taken again, with the same keys. */
void push_mark_load(struct push_mark *m, const char *spool, const struct fleet_id *run);
/* Marks of runs that are over for a month are removed on the way. */
void push_mark_save(const struct push_mark *m, const char *spool, const struct fleet_id *run);
