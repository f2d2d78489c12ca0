/* SPDX-License-Identifier: MIT */
#include "record/recorder_look.h"

#include <unistd.h>

#include "base/macros.h"
#include "pipeline/block_residency.h"
#include "pipeline/pipeline.h"
#include "record/proc.h"
#include "record/recorder_observers.h"

#define MS 1000000ull

enum {
        /* dense at first, each at most at so many, and a hundredth of its time (in the first second more) */
        LOOK_MIN_NS = 20 * MS,
        LOOK_MAX_NS = 1000 * MS,
        LOOK_BLOCKS = 4096,
        LOOK_PAGES = 1 << 20,
        LOOK_COST_SHARE = 100,
        LOOK_FIRST_SHARE = 20,
};

/* At the pages of one process, unless nothing can have changed. */
static void recorder_look_at(struct recorder *r, struct image *one, uint64_t now_ns,
                             uint64_t n_records, struct residency_budget *budget) {
        bool has_changed =
                n_records != one->n_records_looked || one->n_faults != one->n_faults_looked;
        int fd;

        if (one->is_over || one->is_ending || one->is_foreign || now_ns < one->next_look_ns)
                return;
        one->wants_look = false;
        if (!pipeline_wants_look(r->pipeline, one->process_idx, has_changed))
                return;
        one->next_look_ns =
                now_ns + MIN(MAX((now_ns - one->began_ns) / 4, LOOK_MIN_NS), LOOK_MAX_NS);
        one->n_faults_looked = one->n_faults;
        one->n_records_looked = n_records;
        fd = proc_open_pagemap(one->pid, one->exe);
        if (fd < 0)
                return;
        one->wants_look = pipeline_look(r->pipeline, one->process_idx, fd, now_ns, budget);
        close(fd);
}

/* Addresses under an emulator are not those of its process. */
uint64_t recorder_look(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct residency_budget budget = {LOOK_BLOCKS, LOOK_PAGES};
        uint64_t begin_ns = proc_cpu_ns(getpid()), cost_ns;
        size_t n = r->config->options->launcher ? 0 : r->images.list.n;

        r->look_again_ns = OBSERVER_NEVER;
        for (size_t i = 0; i < n; i++) {
                struct image *one = r->images.list.items[(i + r->n_looks) % n];

                recorder_look_at(r, one, now_ns, r->n_records_at_sample, &budget);
                if (one->wants_look && !one->is_ending)
                        r->look_again_ns = MIN(r->look_again_ns, one->next_look_ns);
        }
        cost_ns = proc_cpu_ns(getpid()) - begin_ns;
        r->n_looks++;
        r->next_look_ns =
                now_ns + cost_ns * (now_ns < LOOK_MAX_NS ? LOOK_FIRST_SHARE : LOOK_COST_SHARE);
        observers_wake(&r->observers, OBSERVER_SAMPLE, MAX(r->look_again_ns, r->next_look_ns));
        return OBSERVER_NEVER;
}
