/* SPDX-License-Identifier: MIT */
#include "keep/high_graph.h"

#include <string.h>

enum { MUCH_LESS = 4 }; /* the peak is so many times what is left */
#define LEAST_BYTES (1ull << 20)

/* Graphs are named by a snapshot of the same moment. */
static bool is_named(struct query *q, const struct trace_graph *g, const char *begin) {
        const struct trace_view *v = query_view(q);

        for (uint32_t i = 0; i < v->n_notes; i++) {
                struct query_moment m;

                if (query_moment_of(&v->notes[i], &m) && m.is_snapshot && m.time_ns == g->time_ns &&
                    strncmp(m.name, begin, strlen(begin)) == 0)
                        return true;
        }
        return false;
}

bool high_graph_is_exit(struct query *q, size_t graph_idx) {
        return is_named(q, query_graph(q, graph_idx), "exit");
}

size_t high_graph_find(struct query *q, uint32_t process) {
        for (size_t i = query_n_graphs(q); i-- > 0;)
                if (query_graph(q, i)->process == process &&
                    is_named(q, query_graph(q, i), "high-"))
                        return i;
        return SIZE_MAX;
}

bool high_graph_matters(uint64_t end_bytes, uint64_t peak_bytes) {
        return peak_bytes >= LEAST_BYTES && peak_bytes / MUCH_LESS >= end_bytes;
}

uint64_t high_graph_peak_bytes(struct query *q, uint32_t process, uint64_t to_ns) {
        struct query_scope scope = {.process = process, .to_ns = to_ns};
        struct query_answer *a = NULL;
        struct err unsaid = {0};
        uint64_t peak_bytes = 0;

        if (query_ask(q, &scope, &a, &unsaid) == 0)
                peak_bytes = a->totals.peak_bytes;
        query_answer_free(a);
        return peak_bytes;
}
