/* SPDX-License-Identifier: MIT */
/* Which allocator a process requested its memory from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct trace_view;

/* Of several the one with most bytes: "glibc", "jemalloc", "mimalloc", "tcmalloc", or the file name of a library that silt does not know.
 * NULL: nobody knows. Valid as long as the trace is. *ret_has_others (NULL ok): others gave blocks too. */
const char *used_allocator(const struct trace_view *v, uint32_t process, bool *ret_has_others);
