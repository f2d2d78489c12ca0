/* SPDX-License-Identifier: MIT */
#include "reach/reach_graph.h"

#include <stdlib.h>

void reach_graph_done(struct reach_graph *g) {
        free(g->first);
        free(g->edges);
        g->first = NULL;
        g->edges = NULL;
}
