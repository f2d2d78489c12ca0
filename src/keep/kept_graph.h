/* SPDX-License-Identifier: MIT */
/* A graph of a trace, with what follows from it: classes and dominators. */
#pragma once

#include "query/query.h"
#include "reach/dominators.h"
#include "reach/heap_graph.h"
#include "reach/leak_classes.h"

struct kept_graph {
        struct trace_graph info; /* of which process, and when */
        struct heap_graph heap;
        struct leak_classes classes;
};

/* The newest of the process; QUERY_ALL: of any. */
int kept_graph_open(struct kept_graph *g, struct query *q, uint32_t process, struct err *reterr);
/* The graph alone. */
int kept_graph_read(struct query *q, size_t graph_idx, struct trace_graph *ret_info,
                    struct heap_graph *ret, struct err *reterr);
void kept_graph_done(struct kept_graph *g);
