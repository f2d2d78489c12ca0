/* SPDX-License-Identifier: MIT */
#include "pipeline/released.h"

#include <stdlib.h>

#include "base/macros.h"

struct released *released_new(void) {
        return calloc(1, sizeof(struct released));
}

struct released *released_free(struct released *r) {
        if (r)
                vec_free(&r->ranges);
        free(r);
        return NULL;
}

void released_add(struct released *r, uint64_t begin, uint64_t end) {
        if (begin < end && r->ranges.n < RELEASED_MAX)
                vec_push(&r->ranges, (struct released_range){begin, end});
}

void released_cut(struct released *r, uint64_t begin, uint64_t end) {
        size_t n = r->ranges.n;

        for (size_t i = 0; begin < end && i < n; i++) {
                struct released_range *x = &r->ranges.items[i], was = *x;

                if (was.end <= begin || was.begin >= end)
                        continue;
                x->end = MAX(was.begin, begin);
                released_add(r, MIN(was.end, end), was.end);
        }
}
