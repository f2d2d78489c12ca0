/* SPDX-License-Identifier: MIT */
/* Differences that are chance: threads race, so the peak comes at another moment, when other requests are under way. A
 * change is chance when its row did the same work on both sides (allocations and bytes) and its live bytes differ by no more than they
 * go up and down all the time, on both sides. Of CPU time it is chance within three standard errors: of a row √n samples, of the whole a
 * period of the clock for each thread. Waits are measured, and no chance. Inside diff/ only. */
#pragma once

#include "diff/paired.h"

/* Sets `is_chance` of rows and `total_is_chance`, and sorts rows anew; reads history only where something of note may be
 * chance. */
int chance_find(struct diff *d, struct err *reterr);
