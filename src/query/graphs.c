/* SPDX-License-Identifier: MIT */
/* What points to what, at moments of which the trace has that. */
#include <errno.h>

#include "query/query_internal.h"

size_t query_n_graphs(const struct query *q) {
        return trace_n_graphs(q->reader);
}

const struct trace_graph *query_graph(const struct query *q, size_t graph_idx) {
        return trace_graph(q->reader, graph_idx);
}

int query_read_graph(struct query *q, size_t graph_idx, struct trace_graph *ret,
                     bytes_buf *ret_bytes, struct err *reterr) {
        const struct trace_graph *g = trace_graph(q->reader, graph_idx);

        if (!g)
                return err_set(
                        reterr, -ENOENT,
                        "the trace has no graph of what points to what: take one with 'silt snapshot PID --graph', or record with --leaks");
        if (g->process >= query_view(q)->n_processes)
                return err_set(reterr, -EBADMSG,
                               "the graph is of a process that the trace does not have");
        *ret = *g;
        return trace_read_graph(q->reader, graph_idx, ret_bytes, reterr);
}
