/* SPDX-License-Identifier: MIT */
#include "record/high_mark.h"

#define HOLD_NS 1000000000ull
#define FLOOR_BYTES (1ull << 20) /* lower ones are not looked at */
#define STEP 1.25                /* above the last one */
#define RISE 1.05                /* what rises by more, or falls below, is not held */

bool high_mark_due(struct high_mark *h, uint64_t now_ns, uint64_t live_bytes) {
        double level = (double)h->level_bytes;

        if ((double)live_bytes > level * RISE || (double)live_bytes * RISE < level) {
                h->level_bytes = live_bytes;
                h->since_ns = now_ns;
        }
        if (h->n >= HIGH_MARK_MAX || live_bytes < FLOOR_BYTES || now_ns - h->since_ns < HOLD_NS ||
            (double)live_bytes < (double)h->taken_bytes * STEP)
                return false;
        h->taken_bytes = live_bytes;
        h->n++;
        return true;
}
