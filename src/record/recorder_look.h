/* SPDX-License-Identifier: MIT */
/* Looks at the pages of large blocks (residency.h), from time to time. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Sets next_look_ns and look_again_ns. */
void recorder_look(struct recorder *r, uint64_t now_ns, uint64_t n_records);
