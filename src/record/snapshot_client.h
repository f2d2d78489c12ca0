/* SPDX-License-Identifier: MIT */
/* Finds the recorder of a process or of a trace, and asks it (snapshot_protocol.h). */
#pragma once

#include <stdbool.h>

#include "record/snapshot_protocol.h"

/* who: a pid, of any process of the recording, or of silt itself, or the path of the trace that is being written. name: NULL or
 * "": the recorder chooses. graph: what points to what, too. 0, or -errno with what is wrong and what to do. */
int snapshot_client_take(const char *who, const char *name, bool graph, struct snapshot_answer *ret,
                         struct err *reterr);
