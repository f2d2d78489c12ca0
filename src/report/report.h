/* SPDX-License-Identifier: MIT */
/* The summary of a trace for people (text) and for programs (JSON, schema silt.report/1). */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "show/show_options.h"

/* Opens the trace and prints what the options ask for. Nothing is printed when it fails. */
int report_print(FILE *out, const struct show_options *options, struct err *reterr);
/* The same of a trace that is open, with the options resolved: path is only told. When it fails, what was written is to be thrown
 * away. */
int report_write(FILE *out, struct query *q, const struct show_options *options,
                 struct err *reterr);
