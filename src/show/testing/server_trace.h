/* SPDX-License-Identifier: MIT */
/* For tests: the trace of a pretended server with known figures. */
#pragma once

/* Start-up memory, a cache that grows, a spike, temporary strings, threads, a child, mappings,
 * samples. */
void story_write(const char *path);

/* What it left: the cache's entries. */
enum { STORY_N_CACHED = 2000, STORY_CACHED_BYTES = 1500, STORY_SPIKE_BYTES = 6000000 };
