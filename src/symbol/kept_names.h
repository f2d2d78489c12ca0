/* SPDX-License-Identifier: MIT */
/* Names a trace has already and that looking up again would lose: a file that was there when it was
 * recorded may be gone. Inside symbol/ only. */
#pragma once

#include "symbol/symbol.h"

/* Puts back, module by module, what the view has where that is more: first more locations with a
 * line, then more that are named for sure. Returns for how many modules. */
size_t kept_names_put_back(struct symbol_table *t, const struct trace_view *v);
