/* SPDX-License-Identifier: MIT */
#include "record/callpath.h"

#include <stdlib.h>

void callpath_done(struct callpath *c) {
        free(c->hashes);
        free(c->pcs);
        free(c->stacks);
}

void callpath_clear(struct callpath *c) {
        c->depth = c->n_known = 0;
}

void callpath_grow(struct callpath *c, uint32_t n, const struct path_key *key) {
        size_t cap = c->cap, pcs_cap = cap, stacks_cap = cap;

        c->hashes = vec_grow(c->hashes, &cap, n + 1, sizeof(c->hashes[0]));
        c->pcs = vec_grow(c->pcs, &pcs_cap, cap, sizeof(c->pcs[0]));
        c->stacks = vec_grow(c->stacks, &stacks_cap, cap, sizeof(c->stacks[0]));
        c->cap = (uint32_t)cap;
        c->hashes[0] = key->seed;
}

uint32_t callpath_intern(struct callpath *c, uint32_t depth, struct intern *in,
                         struct intern_space *space) {
        uint32_t stack;

        /* other modules may lie there now */
        if (c->space_no != space->no)
                c->n_known = 0;
        c->space_no = space->no;
        stack = c->n_known > 0 ? c->stacks[c->n_known - 1] : 0;
        for (; c->n_known < depth; c->n_known++) {
                stack = intern_push(in, space, stack, c->pcs[c->n_known]);
                c->stacks[c->n_known] = stack;
        }
        return stack;
}
