/* SPDX-License-Identifier: MIT */
#include "record/ranges.h"

#include <string.h>

#include "base/macros.h"

enum { RANGES_MAX = 16384 };

/* The first that ends at or behind address. */
static size_t ranges_find(const struct ranges *r, uint64_t address) {
        size_t low = 0, high = r->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (r->list.items[mid].end < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

void ranges_add(struct ranges *r, uint64_t begin, uint64_t end) {
        size_t at, n;

        if (begin >= end)
                return;
        at = ranges_find(r, begin);
        for (n = at; n < r->list.n && r->list.items[n].begin <= end; n++) {
                begin = MIN(begin, r->list.items[n].begin);
                end = MAX(end, r->list.items[n].end);
        }
        if (n == at) {
                if (r->list.n >= RANGES_MAX) {
                        r->is_full = true;
                        return;
                }
                vec_push(&r->list, ((struct range){0, 0}));
                memmove(&r->list.items[at + 1], &r->list.items[at],
                        (r->list.n - 1 - at) * sizeof(r->list.items[0]));
        } else {
                memmove(&r->list.items[at + 1], &r->list.items[n],
                        (r->list.n - n) * sizeof(r->list.items[0]));
                r->list.n -= n - at - 1;
        }
        r->list.items[at] = (struct range){begin, end};
}

void ranges_copy(struct ranges *to, const struct ranges *from) {
        for (size_t i = 0; i < from->list.n; i++)
                vec_push(&to->list, from->list.items[i]);
        to->is_full |= from->is_full;
}

void ranges_done(struct ranges *r) {
        vec_free(&r->list);
}

uint64_t ranges_overlap_bytes(const struct ranges *r, uint64_t begin, uint64_t end) {
        uint64_t sum = 0;

        for (size_t i = ranges_find(r, begin); i < r->list.n && r->list.items[i].begin < end; i++) {
                uint64_t from = MAX(begin, r->list.items[i].begin);
                uint64_t to = MIN(end, r->list.items[i].end);

                sum += to > from ? to - from : 0;
        }
        return sum;
}
