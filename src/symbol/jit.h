/* SPDX-License-Identifier: MIT */
/* Names for the locations of a trace that lie in no file: code made at run time, named by the maps
 * (symbol/perfmap.h) of the processes whose stacks hold the location. Inside symbol/ only. */
#pragma once

#include "symbol/module.h"
#include "trace/reader.h"

/* Calls fn with symbol->location being that of the trace. ret_origin says what is missing; its naming
 * is TRACE_NAMING_UNKNOWN when every location lies in a file. */
void jit_name(struct trace_reader *t, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin);
