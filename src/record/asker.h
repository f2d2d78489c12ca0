/* SPDX-License-Identifier: MIT */
/* Finds the recorder of a process or of a trace, and asks it (ask.h). */
#pragma once

#include "record/ask.h"

/* who: a pid, of any process of the recording, or of silt itself, or the path of the trace that is being written. name: NULL or
 * "": the recorder chooses. 0, or -errno with what is wrong and what to do. */
int asker_snapshot(const char *who, const char *name, struct ask_answer *ret, struct err *reterr);
