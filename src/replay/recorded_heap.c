/* SPDX-License-Identifier: MIT */
#include "replay/recorded_heap.h"

#include "resident/resident.h"
#include "resident/resident_bytes.h"

enum {
        FAR_SHARE = 10,
        FAR_BYTES = 2 << 20, /* of a small heap what the program needs besides makes as much */
};

static void take(struct recorded_heap *h, struct query *q, size_t bill_idx) {
        struct trace_bill info = {0};
        struct resident r = {0};
        bytes_buf bytes = {0};
        struct err unsaid = {0};

        if (query_read_bill(q, bill_idx, &info, &bytes, &unsaid) == 0 &&
            resident_decode(&r, bytes.items, bytes.n, &unsaid) == 0) {
                if (r.has_blocks && r.heap.rss_bytes >= h->rss_bytes)
                        *h = (struct recorded_heap){r.heap.rss_bytes, info.time_ns};
                resident_done(&r);
        }
        vec_free(&bytes);
}

void recorded_heap_read(struct recorded_heap *h, struct query *q, uint32_t process) {
        *h = (struct recorded_heap){0};
        for (size_t i = 0; i < query_n_bills(q); i++)
                if (query_bill(q, i)->process == process)
                        take(h, q, i);
}

bool recorded_heap_is_far(const struct recorded_heap *h, uint64_t least_bytes,
                          uint64_t most_bytes) {
        uint64_t margin = MAX(h->rss_bytes / FAR_SHARE, (uint64_t)FAR_BYTES);

        return h->rss_bytes &&
               (least_bytes > h->rss_bytes + margin || most_bytes + margin < h->rss_bytes);
}
