/* SPDX-License-Identifier: MIT */
/* Where a process may have an allocator: memory of its own, and the variables of the program and of its libraries. */
#pragma once

#include "attach/memory.h"
#include "attach/target.h"
#include "base/vec.h"

typedef VEC(struct memory_span) span_list;

/* Memory that is nobody's file, and can be written; what stands side by side is one. Owned. */
span_list target_spans(const struct target *t);

/* The variables of the object whose first mapping is the i-th. False: it is not one's. */
bool target_object_variables(const struct target *t, size_t i, struct memory_span *ret);
