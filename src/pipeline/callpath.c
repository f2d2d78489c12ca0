/* SPDX-License-Identifier: MIT */
#include "pipeline/callpath.h"

#include <stdlib.h>

void callpath_done(struct callpath *c) {
        free(c->hashes);
        free(c->pcs);
}

void callpath_clear(struct callpath *c) {
        c->depth = 0;
}

void callpath_grow(struct callpath *c, uint32_t n, const struct path_key *key) {
        size_t cap = c->cap, pcs_cap = cap;

        c->hashes = vec_grow(c->hashes, &cap, n + 1, sizeof(c->hashes[0]));
        c->pcs = vec_grow(c->pcs, &pcs_cap, cap, sizeof(c->pcs[0]));
        c->cap = (uint32_t)cap;
        c->hashes[0] = key->seed;
}

uint32_t callpath_intern(const struct callpath *c, struct intern *in, struct intern_space *space) {
        struct path path = {0};
        const struct path *known = NULL;
        uint32_t n_known;

        /* most new stacks differ from known ones in their last frames only */
        for (n_known = c->depth; n_known > 0; n_known--) {
                known = paths_find(&space->paths, path_hash_done(c->hashes[n_known]));
                if (known)
                        break;
        }
        path.stack = known ? known->stack : 0;
        for (; n_known < c->depth; n_known++) {
                path.stack = intern_push(in, space, path.stack, c->pcs[n_known]);
                path.hash = path_hash_done(c->hashes[n_known + 1]);
                paths_add(&space->paths, &path);
        }
        return path.stack;
}
