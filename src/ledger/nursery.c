/* SPDX-License-Identifier: MIT */
#include "ledger/nursery.h"

#include <stdio.h>
#include <stdlib.h>

enum { JUDGED_AFTER = 4 * NURSERY_MAX, PASSED = 64 * NURSERY_MAX };

static void nursery_set_places(struct nursery *n, size_t n_places) {
        size_t size_bytes = n_places * (sizeof(n->blocks[0]) + sizeof(n->dead[0]));

        n->blocks = aligned_alloc(64, size_bytes);
        if (!n->blocks) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        memset(n->blocks, 0, size_bytes);
        n->dead = (uint64_t *)(n->blocks + n_places);
        n->mask = (uint32_t)n_places - 1;
}

void nursery_start(struct nursery *n) {
        nursery_set_places(n, NURSERY_FIRST);
}

void nursery_done(struct nursery *n) {
        free(n->blocks);
        memset(n, 0, sizeof(*n));
}

/* Blocks with different places have different ones among more. */
static void nursery_grow(struct nursery *n) {
        struct nursery old = *n;

        nursery_set_places(n, NURSERY_MAX);
        for (size_t i = 0; i <= old.mask; i++)
                if (old.blocks[i].address)
                        n->blocks[nursery_idx(n, old.blocks[i].address)] = old.blocks[i];
        nursery_done(&old);
}

void nursery_note_sent_on(struct nursery *n) {
        bool is_largest = n->mask == NURSERY_MAX - 1;

        if (++n->n_sent_on < (is_largest ? JUDGED_AFTER : 4 * NURSERY_FIRST))
                return;
        if (!is_largest)
                nursery_grow(n);
        else if (n->n_added < 2 * n->n_sent_on)
                n->n_to_pass = PASSED;
        n->n_added = n->n_sent_on = 0;
}
