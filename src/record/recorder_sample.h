/* SPDX-License-Identifier: MIT */
/* Samples of processes' memory, from time to time. A part of the recorder. */
#pragma once

#include "record/recorder_state.h"

/* Of all. */
uint64_t recorder_sample(void *recorder, uint64_t now_ns);
/* Of those that may not live to see the next one of all. */
uint64_t recorder_sample_young(void *recorder, uint64_t now_ns);
uint64_t recorder_young_due(const void *recorder);

/* In recorder.c. A process is gone. */
void recorder_see_gone(struct recorder *r, struct image *one);
size_t recorder_count_living(struct recorder *r);
void recorder_end_gone(struct recorder *r); /* all but the target that are */
