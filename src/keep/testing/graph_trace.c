/* SPDX-License-Identifier: MIT */
#include "keep/testing/graph_trace.h"

#include <stdlib.h>

#include "query/testing/fabric.h"
#include "reach/testing/drawn_heap.h"
#include "trace/writer.h"

/* Each is a stack with those before it below, and a location. */
static const char *const functions[] = {"main",
                                        "serve",
                                        "sessions+16:64",
                                        "Session::open(int)",
                                        "core::ptr::drop_in_place<app::Task>",
                                        "<app::Task as core::future::Future>::poll",
                                        "insert",
                                        "main_arena+96:2200"};

enum { N_FUNCTIONS = ARRAY_SIZE(functions), N_ALLOCATED = 40 };

void graph_trace_write(const char *path, const struct graph_bytes *graphs, size_t n_graphs) {
        const struct fabric_options o = {.seed = 1,
                                         .slice_events = 100,
                                         .max_processes = 1,
                                         .slice_us = 1000000};
        struct fabric *f = fabric_new(path, &o);
        uint32_t stacks[N_FUNCTIONS], stack = 0;

        fabric_thread(f, 0, "main");
        for (size_t i = 0; i < N_FUNCTIONS; i++)
                stacks[i] = stack = fabric_frame(f, stack, i % 4 == 3 ? "/lib/libc.so.6" : "/app",
                                                 functions[i], "/src/app.c", (uint32_t)i + 10);
        for (size_t i = 0; i < n_graphs; i++) {
                for (unsigned k = 0; k < N_ALLOCATED; k++)
                        fabric_alloc(f, 0, 0, stacks[k % N_FUNCTIONS], 100 + k);
                fabric_wait(f, 1000000);
                if (graphs[i].n &&
                    !trace_put_graph(fabric_writer(f),
                                     &(struct trace_graph){.process = graphs[i].process,
                                                           .time_ns = fabric_now_ns(f),
                                                           .n_bytes = graphs[i].n,
                                                           .has_heads = graphs[i].has_heads},
                                     graphs[i].bytes))
                        abort();
        }
        fabric_end(f);
}

void graph_trace_draw(struct draw *d, bytes_buf *ret) {
        struct heap_graph h;

        drawn_heap_make(d, &h);
        for (uint32_t i = 0; i < h.graph.n_blocks; i++)
                if (h.blocks[i].site != REACH_NO_SITE)
                        h.blocks[i].site %= N_FUNCTIONS;
        for (uint32_t i = 0; i < h.n_places; i++)
                if (h.places[i].location != HEAP_NO_LOCATION)
                        h.places[i].location %= N_FUNCTIONS;
        /* near one another, so that places are of roots */
        for (uint32_t i = 0; i < h.graph.n_roots && h.n_places; i++)
                h.roots[i].begin =
                        h.places[draw_below(d, h.n_places)].address + 8 * draw_below(d, 3);
        heap_graph_encode(&h, ret);
        heap_graph_encode_places(h.places, h.n_places, ret);
        heap_graph_done(&h);
}

bool graph_trace_has_heads(const uint8_t *bytes, size_t n) {
        struct bytes_reader r = bytes_reader_of(bytes, n);

        for (unsigned i = 0; i < 3; i++) /* numbers of blocks, roots, owners */
                bytes_varint(&r);
        return bytes_varint(&r) & 2;
}

void graph_trace_put_drawn(struct fabric *f, uint64_t seed) {
        struct draw d = draw_from(seed);
        bytes_buf graph = {0};

        graph_trace_draw(&d, &graph);
        if (!trace_put_graph(fabric_writer(f),
                             &(struct trace_graph){.time_ns = fabric_now_ns(f),
                                                   .n_bytes = graph.n,
                                                   .has_heads = graph_trace_has_heads(graph.items,
                                                                                      graph.n)},
                             graph.items))
                abort();
        vec_free(&graph);
}
