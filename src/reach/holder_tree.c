/* SPDX-License-Identifier: MIT */
#include "reach/holder_tree.h"

int holder_tree_make(const struct reach_graph *g, const struct reach_places *places,
                     const struct site_keys *keys, struct holder_tree *ret) {
        struct holder_tree made;
        int r = reach_dominators_find(g, places, &made.dominators);

        if (r < 0)
                return r;
        r = site_tree_make(&(struct site_tree_request){.g = g,
                                                       .parent = made.dominators.parent,
                                                       .n_nodes = made.dominators.n,
                                                       .keys = keys,
                                                       .weight = made.dominators.retained_bytes},
                           &made.tree);
        if (r < 0) {
                reach_dominators_done(&made.dominators);
                return r;
        }
        *ret = made;
        return 0;
}

void holder_tree_done(struct holder_tree *t) {
        reach_dominators_done(&t->dominators);
        site_tree_done(&t->tree);
}
