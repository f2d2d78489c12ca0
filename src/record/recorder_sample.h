/* SPDX-License-Identifier: MIT */
/* Samples of processes' memory, from time to time. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Of all; sets next_sample_ns. */
void recorder_sample(struct recorder *r, uint64_t now_ns);
/* Of those that may not live to see the next one of all; sets next_young_ns. */
void recorder_sample_young(struct recorder *r, uint64_t now_ns);

/* In recorder.c. A process is gone. */
void recorder_see_gone(struct recorder *r, struct image *one);
size_t recorder_count_living(struct recorder *r);
void recorder_end_gone(struct recorder *r); /* all but the target that are */
