/* SPDX-License-Identifier: MIT */
/* The regular expressions that statements used last, compiled, and what they were found in. A statement may have thousands of them, which
 * SQLite's limits do not count: only so many are kept. Inside sql/ only. */
#pragma once

#include "query/path_search.h"
#include "query/search_pattern.h"

enum { PATTERN_CACHE_MOST = 32 };

struct pattern_cache;
struct pattern_cache *pattern_cache_free(struct pattern_cache *c); /* NULL ok; returns NULL */

/* Whether the text matches: 1, 0, or -errno: what is wrong with the pattern, or that it takes too long. *cache is made where it is
 * NULL. */
int pattern_cache_matches(struct pattern_cache **cache, const char *pattern, const char *text,
                          struct err *reterr);
/* Whether the call path has a function that does. */
int pattern_cache_has_frame(struct pattern_cache **cache, struct query *q, const char *pattern,
                            uint32_t stack, struct err *reterr);
