/* SPDX-License-Identifier: MIT */
#include "keep/kept_graph.h"

#include <errno.h>

/* Stacks of the trace, and nothing else. */
static bool stacks_are_known(const struct heap_graph *h, const struct query *q) {
        for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                if (h->blocks[i].site != REACH_NO_SITE &&
                    h->blocks[i].site >= query_view(q)->n_stacks)
                        return false;
        return true;
}

int kept_graph_read(struct query *q, size_t graph_idx, struct trace_graph *ret_info,
                    struct heap_graph *ret, struct err *reterr) {
        bytes_buf bytes = {0};
        int r = query_read_graph(q, graph_idx, ret_info, &bytes, reterr);

        if (r == 0)
                r = heap_graph_decode(bytes.items, bytes.n, ret, reterr);
        vec_free(&bytes);
        if (r < 0)
                return r;
        heap_graph_follow_tables(ret);
        if (stacks_are_known(ret, q))
                return 0;
        heap_graph_done(ret);
        return err_set(reterr, -EBADMSG, "the graph names call paths that the trace does not have");
}

int kept_graph_open(struct kept_graph *g, struct query *q, uint32_t process, struct err *reterr) {
        size_t i = query_n_graphs(q);
        int r;

        *g = (struct kept_graph){0};
        while (i > 1 && process != QUERY_ALL && query_graph(q, i - 1)->process != process)
                i--;
        if (i > 0 && process != QUERY_ALL && query_graph(q, i - 1)->process != process)
                return err_set(
                        reterr, -ENOENT,
                        "the trace has no graph of that process: take one with 'silt snapshot PID --graph', or record with --graph-every 1m");
        r = kept_graph_read(q, i ? i - 1 : 0, &g->info, &g->heap, reterr);
        if (r == 0)
                r = leak_classes_find(&g->heap.graph, &g->classes);
        if (r < 0)
                kept_graph_done(g);
        return r;
}

void kept_graph_done(struct kept_graph *g) {
        leak_classes_done(&g->classes);
        heap_graph_done(&g->heap);
}
