/* SPDX-License-Identifier: MIT */
/* For tests: the trace of a pretended server with known figures. */
#pragma once

/* Start-up memory, a cache that grows, a spike, temporary strings, threads, a child, mappings,
 * samples. */
void server_trace_write(const char *path);

/* What it left: the cache's entries. */
enum {
        SERVER_TRACE_N_CACHED = 2000,
        SERVER_TRACE_CACHED_BYTES = 1500,
        SERVER_TRACE_SPIKE_BYTES = 6000000
};
