/* SPDX-License-Identifier: MIT */
/* Memory that is dropped whole: one arena per trace, per pass, per request. Nothing in it is freed singly. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

struct arena;

struct arena *arena_new(void);
struct arena *arena_free(struct arena *a); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct arena, arena_free)

/* Zeroed, aligned to 16. Ends the process when memory is out. */
void *arena_alloc(struct arena *a, size_t size_bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
void *arena_memdup(struct arena *a, const void *p, size_t size_bytes);
size_t arena_size_bytes(const struct arena *a);
