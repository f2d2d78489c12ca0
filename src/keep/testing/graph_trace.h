/* SPDX-License-Identifier: MIT */
/* For tests and fuzzers: a small trace with graphs, and graphs whose call paths and places such a trace has. */
#pragma once

#include "reach/heap_graph.h"
#include "reach/testing/draw.h"

struct graph_bytes {
        const uint8_t *bytes;
        size_t n;         /* 0: no graph */
        uint32_t process; /* the trace has number 0 alone */
        bool has_heads;   /* as graph_trace_has_heads(), or the chunk contradicts the graph */
};

/* One of each, in this order, a second apart. Any bytes. */
void graph_trace_write(const char *path, const struct graph_bytes *graphs, size_t n_graphs);

/* As drawn_heap.h has it. */
void graph_trace_draw(struct draw *d, bytes_buf *ret);

/* A drawn one in a trace that is being made, now. */
struct fabric;
void graph_trace_put_drawn(struct fabric *f, uint64_t seed);

/* Whether a graph says so of itself. */
bool graph_trace_has_heads(const uint8_t *bytes, size_t n);
