/* SPDX-License-Identifier: MIT */
/* Snapshots (docs/snapshots.md): who asks for them, when they come by themselves, what becomes of them in the trace. A part of the
 * recorder. */
#pragma once

#include "record/recorder_state.h"

void recorder_open_snapshot_server(struct recorder *r);
/* Nobody can ask any more; whoever waits is told what came of it. */
void recorder_close_snapshot_server(struct recorder *r);

/* Somebody may be at the snapshot server. */
void recorder_hear_snapshot_server(struct recorder *r);
/* With samples of the processes' memory: what that does may be worth a snapshot. */
void recorder_see_memory(struct recorder *r, uint64_t now_ns);
/* Takes what is due by itself, begins a cut when somebody waits for one, answers when it is made. */
uint64_t recorder_keep_snapshots(void *recorder, uint64_t now_ns);
uint64_t recorder_snapshots_due(const void *recorder);
bool recorder_awaits_snapshot(const struct recorder *r);

/* Called back by the pipeline. */
bool recorder_on_cut(void *ctx, uint64_t time_ns);
