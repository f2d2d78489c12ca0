/* SPDX-License-Identifier: MIT */
/* Snapshots (docs/snapshots.md): who asks for them, when they come by themselves, what becomes of them in the trace. A part of the
 * recorder. */
#pragma once

#include "record/recorder_state.h"

void recorder_open_desk(struct recorder *r);
/* Nobody can ask any more; whoever waits is told what came of it. */
void recorder_close_desk(struct recorder *r);

/* Somebody may be at the desk. */
void recorder_hear_desk(struct recorder *r);
/* Takes what is due by itself, begins a cut when somebody waits for one, answers when it is made. */
void recorder_keep_moments(struct recorder *r, uint64_t now_ns);
bool recorder_awaits_moment(const struct recorder *r);

/* Called back by the pipeline. */
void recorder_on_cut(void *ctx, uint64_t time_ns);
