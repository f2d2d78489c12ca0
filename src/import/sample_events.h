/* SPDX-License-Identifier: MIT */
/* The events that perf took samples of, and which of them are read: time before anything else. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "import/import_trace.h"

/* Each allocation, as silt exports them; the period is its bytes. */
#define SAMPLE_ALLOCATION "silt:malloc"

enum sample_kind {
        SAMPLE_OF_CPU_TIME, /* cpu-clock, task-clock: the period is nanoseconds */
        SAMPLE_OF_BLOCKED_TIME,
        SAMPLE_OF_READY_TIME,
        SAMPLE_OF_OTHER,
};

struct sample_event {
        const char *name; /* "page-faults:u" */
        enum sample_kind kind;
        uint64_t n_samples, weight;                /* the sum of the periods of all */
        bool lacks_time, lacks_weight, lacks_task; /* some of its samples do */
        bool is_taken;
};

struct sample_events {
        VEC(struct sample_event) list;
        bool are_ticks;       /* those that are taken: samples of time with all that ticks need */
        bool are_allocations; /* SAMPLE_ALLOCATION is */
        enum trace_unit unit; /* else: of the weights */
};

enum sample_kind sample_kind_of(const char *name);
enum trace_tick_state sample_kind_state(enum sample_kind kind); /* of time */
/* Takes one, or of time one of each kind; -EINVAL: it has none of the name that was asked for, or its figures are too large. */
int sample_events_choose(struct sample_events *s, const struct import_trace *t, const char *path,
                         struct err *reterr);
/* What is left out, and what the weights are. */
void sample_events_tell(const struct sample_events *s, struct import_trace *t);
/* As the trace is begun for them, but for the process. */
struct import_begin sample_events_begin(const struct sample_events *s);
