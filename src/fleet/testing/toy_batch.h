/* SPDX-License-Identifier: MIT */
/* A batch with something of everything, for tests. */
#pragma once

#include "fleet/batch.h"

/* The i-th moment of a run; the same each time. */
static inline struct fleet_batch *toy_batch(uint64_t i) {
        struct fleet_run run = {.id = fleet_run_id("web-1", 1700000000000000000, 4711),
                                .service = "checkout",
                                .host = "web-1",
                                .program = "server",
                                .build = "c0ffee",
                                .pid = 4711,
                                .labels = {"zone=eu", "color=blue"},
                                .n_labels = 2};
        struct fleet_batch *b = fleet_batch_new(&run);
        struct fleet_snapshot *s = fleet_batch_add_snapshot(b);

        s->recording_ms = (i + 1) * 60000;
        s->unix_ms = 1700000000000 + s->recording_ms;
        s->period_ms = 60000;
        s->live_bytes = 3000 + (int64_t)i;
        s->live_blocks = 3;
        s->peak_bytes = 5000;
        s->rss_bytes = 1 << 20;
        s->alloc_bytes = 9000;
        s->n_allocs = 90;
        s->n_frees = 87;
        s->n_failed = 1;
        s->n_lost = 2;
        s->sample_bytes = 524288;
        s->error_bytes = 12.5;
        s->is_damaged = true;
        fleet_batch_add_site(b, &(struct fleet_site){.path_idx = fleet_batch_path(
                                                             b,
                                                             (const char *[]){"Cache::insert",
                                                                              "serve", "main"},
                                                             3),
                                                     .live_bytes = 3000 + (int64_t)i,
                                                     .live_blocks = 3,
                                                     .alloc_bytes = 4000,
                                                     .n_allocs = 40,
                                                     .error_bytes = 12.5});
        fleet_batch_add_site(
                b, &(struct fleet_site){.path_idx = fleet_batch_path(
                                                b, (const char *[]){"parse", "serve", "main"}, 3),
                                        .live_bytes = -1,
                                        .alloc_bytes = 5000,
                                        .n_allocs = 50});
        return b;
}
