/* SPDX-License-Identifier: MIT */
/* Looks at the pages of large blocks (residency.h), from time to time. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Behind a sample, which says in what processes something happened. */
uint64_t recorder_look(void *recorder, uint64_t now_ns);
