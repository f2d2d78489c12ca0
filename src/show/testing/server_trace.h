/* SPDX-License-Identifier: MIT */
/* For tests: the trace of a pretended server with known figures. */
#pragma once

/* Start-up memory, a cache that grows, a spike, temporary strings, threads, a child, mappings,
 * samples. */
void server_trace_write(const char *path);

/* The same, and where its time went: the worker ran a millisecond for each request, one in four of them in PriceCache::insert and the
 * others in split_words; the main thread waited in Config::load for the last 50 ms of each 50 requests. */
void server_trace_write_timed(const char *path);
enum { SERVER_TRACE_TICK_NS = 1000000, SERVER_TRACE_WAIT_NS = 50000000, SERVER_TRACE_N_WAITS = 40 };

/* What it left: the cache's entries. */
enum {
        SERVER_TRACE_N_CACHED = 2000,
        SERVER_TRACE_CACHED_BYTES = 1500,
        SERVER_TRACE_SPIKE_BYTES = 6000000
};
