/* SPDX-License-Identifier: MIT */
/* How functions and places are called in tables. Inside report/ only. */
#pragma once

#include "base/str.h"
#include "query/query.h"

/* Appends a short form: parameters dropped, template arguments folded to <…>. With full, the
 * name as it is; without a name, the module and the offset in it. */
void name_add_function(struct str *s, const struct query_frame *f, bool full, bool utf8);

/* Appends file:line, or the module. */
void name_add_place(struct str *s, const struct query_frame *f, bool full);

const char *name_base(const char *path);

/* Allocators, containers and helpers between the program and malloc: a reader looks for who
 * called them. */
bool name_is_library(const char *function);

/* What starts programs and threads, outside of the program's own code. */
bool name_is_start(const char *function);
