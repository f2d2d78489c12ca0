/* SPDX-License-Identifier: MIT */
/* Deep call paths and names for bench/long_run.c: what reports, pictures and source have to do with in a large program. */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum { DEEP_FRAMES = 17 };

/* The call path of a site, innermost first: seven levels of branching, with calls that do not branch between them. */
void deep_path(uint32_t site, uint64_t ret_pcs[static DEEP_FRAMES]);

/* Gives every location of the trace a chain of one to four functions, inlined ones among them: 6,000 different ones, in 40 source
 * files of `folder`, which it writes: function n begins at line 1 + n / 40 * 12 of file n % 40. */
int deep_names(const char *trace, const char *folder, struct err *reterr);
