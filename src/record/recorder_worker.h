/* SPDX-License-Identifier: MIT */
/* Whether a second thread makes columns of events for the writer, and packs them. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Once a slice's time. */
void recorder_judge_worker(struct recorder *r, uint64_t now_ns);
