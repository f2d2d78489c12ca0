/* SPDX-License-Identifier: MIT */
/* The hooks of malloc.c for use inside libsilt.so: calls by these names do not go through the
 * loader's tables, which may not be filled yet. */
#pragma once

#include <stdlib.h>

extern __typeof__(realloc) malloc_hook_realloc __attribute__((visibility("hidden")));
extern __typeof__(free) malloc_hook_free __attribute__((visibility("hidden")));
