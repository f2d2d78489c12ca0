/* SPDX-License-Identifier: MIT */
/* How functions and places are called in tables. Inside report/ only. */
#pragma once

#include "base/str.h"
#include "query/query.h"

/* Appends a short form: parameters dropped, template arguments folded to <…>. With full, the name as it is;
 * without a name, the module and the offset in it. */
void name_add_function(struct str *s, const struct query_frame *f, bool full, bool utf8);

/* Appends file:line, or the module. */
void name_add_place(struct str *s, const struct query_frame *f, bool full);

const char *name_base(const char *path);

/* Whether a reader looking for the code that asked may skip the frame: allocators and containers inside,
 * what starts programs and threads outside. */
bool name_is_allocator(const char *function);
bool name_is_start(const char *function);
