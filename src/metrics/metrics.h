/* SPDX-License-Identifier: MIT */
/* silt metrics: figures of recordings for Prometheus and its like (docs/metrics.md). */
#pragma once

#include <stdio.h>

#include "live/follower.h"
#include "metrics/exposition.h"
#include "metrics/listen_address.h"

struct metrics;

struct metrics_options {
        const char *const
                *subjects; /* pids, traces, and folders with traces that are being written */
        size_t n_subjects;
        struct name_sources rules;
        const char *version;
        bool is_once;     /* printed and gone: short processes are told too */
        uint64_t wait_ns; /* a trace that has just begun may have nothing to read for so long */
};

int metrics_open(const struct metrics_options *o, struct metrics **ret, struct err *reterr);
struct metrics *metrics_free(struct metrics *m); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct metrics, metrics_free)

/* Writes them once. */
int metrics_write(struct metrics *m, enum exposition e, FILE *out, struct err *reterr);

struct metrics_serving {
        struct listen_address address;
        bool is_child; /* ends with the recording */
        int stop_fd;
        /* Called once, when it can be scraped. */
        void (*say)(const char *address, bool is_loopback);
        /* Of a child: why it cannot yet, before it waits. */
        void (*say_late)(const struct err *why);
};
int metrics_serve(struct metrics *m, const struct metrics_serving *o, struct err *reterr);
