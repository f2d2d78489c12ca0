/* SPDX-License-Identifier: MIT */
/* What points to what, and what resident memory was made of, at moments of which the trace has that. */
#include <errno.h>

#include "query/query_internal.h"
#include "query/spent_time.h"

size_t query_n_graphs(const struct query *q) {
        return trace_n_graphs(q->reader);
}

const struct trace_graph *query_graph(const struct query *q, size_t graph_idx) {
        return trace_graph(q->reader, graph_idx);
}

int query_read_graph(struct query *q, size_t graph_idx, struct trace_graph *ret,
                     bytes_buf *ret_bytes, struct err *reterr) {
        const struct trace_graph *g = trace_graph(q->reader, graph_idx);
        struct err e = {0};
        int r;

        if (!g && query_is_imported(q))
                return err_set(
                        reterr, -ENOENT,
                        "the file was made by another tool, and has no reference graph: record the program with 'silt run --graph-every 1m'");
        if (!g)
                return err_set(
                        reterr, -ENOENT,
                        "the trace has no reference graph: take one with 'silt snapshot PID --graph', or record with --leaks or --graph-every 1m");
        if (g->process >= query_view(q)->n_processes)
                return err_set(reterr, -EBADMSG,
                               "the graph is of a process that the trace does not have");
        *ret = *g;
        r = trace_read_graph(q->reader, graph_idx, ret_bytes, &e);
        if (r < 0)
                query_note_damage(q, &e); /* for answers that are told without it */
        return r < 0 ? err_set(reterr, r, "%s", e.text) : r;
}

size_t query_n_bills(const struct query *q) {
        return trace_n_bills(q->reader);
}

const struct trace_bill *query_bill(const struct query *q, size_t bill_idx) {
        return trace_bill(q->reader, bill_idx);
}

int query_read_bill(struct query *q, size_t bill_idx, struct trace_bill *ret, bytes_buf *ret_bytes,
                    struct err *reterr) {
        const struct trace_bill *b = trace_bill(q->reader, bill_idx);

        if (!b)
                return err_set(
                        reterr, -ENOENT,
                        "the trace does not say what resident memory was made of: record it with this silt");
        if (b->process >= query_view(q)->n_processes)
                return err_set(reterr, -EBADMSG,
                               "the bill is of a process that the trace does not have");
        *ret = *b;
        return trace_read_bill(q->reader, bill_idx, ret_bytes, reterr);
}
