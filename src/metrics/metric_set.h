/* SPDX-License-Identifier: MIT */
/* Metrics with their values at one moment, ready to be written. Names, types and units are one table, metric_names.c, and that of
 * docs/metrics.md: they never change their meaning.
 *
 *   struct metric_set set = {0};
 *   metric_label(&labels, "program", "redis-server");
 *   metric_put(&set, METRIC_HEAP_LIVE_BYTES, &labels, 4096);
 *   metric_set_done(&set); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "metrics/counter_keeper.h"

enum metric_id {
        METRIC_BUILD_INFO,
        METRIC_UP,
        METRIC_RECORDING_TIME,
        METRIC_HEAP_LIVE_BYTES,
        METRIC_HEAP_LIVE_BLOCKS,
        METRIC_HEAP_PEAK_BYTES,
        METRIC_HEAP_ALLOCATIONS,
        METRIC_HEAP_FREES,
        METRIC_HEAP_ALLOCATED_BYTES,
        METRIC_HEAP_FAILED_ALLOCATIONS,
        METRIC_PRIOR_BYTES,
        METRIC_RESIDENT_BYTES,
        METRIC_SWAP_BYTES,
        METRIC_MEMORY_LIMIT_BYTES,
        METRIC_MEMORY_LIMIT_USAGE_BYTES,
        METRIC_MEMORY_LIMIT_FILES_BYTES,
        METRIC_PRESSURE_STALL,
        METRIC_BILL_BYTES,
        METRIC_BILL_AGE,
        METRIC_ALLOCATOR_BYTES,
        METRIC_COMPONENT_LIVE_BYTES,
        METRIC_COMPONENT_ALLOCATED_BYTES,
        METRIC_COMPONENT_ALLOCATIONS,
        METRIC_SITE_LIVE_BYTES,
        METRIC_SITE_GROWTH_BYTES,
        METRIC_SITE_MAPPED_BYTES,
        METRIC_LEAKED_BYTES,
        METRIC_LEAKED_BLOCKS,
        METRIC_FINDINGS,
        METRIC_PROCESSES_NOT_TOLD,
        METRIC_LOST_EVENTS,
        METRIC_UNWRITTEN_EVENTS,
        METRIC_OWN_CPU,
        METRIC_OWN_MEMORY_BYTES,
        METRIC_TRACE_BYTES,
        METRIC_TRACE_ROOM_BYTES,
        METRIC_TRACE_AGE,
        METRIC_TRACE_DAMAGED,
        METRIC_SAMPLE_DISTANCE_BYTES,
        METRIC_ESTIMATE_ERROR_BYTES,
        METRIC_N,
};

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_INFO };

struct metric_name {
        const char *name; /* as OpenMetrics calls the family: without "_total" and "_info" */
        enum metric_type type;
        const char *unit; /* "" none */
        const char *help;
};
extern const struct metric_name metric_names[METRIC_N];

enum { METRIC_MAX_LABEL_BYTES = 160 };

/* `program="redis-server",pid="4711"`, escaped. */
struct metric_labels {
        struct str text;
};
/* Adds one. The value may hold anything: what cannot be seen is written as an escape, and what is long is cut. */
void metric_label(struct metric_labels *l, const char *name, const char *value);
void metric_labels_done(struct metric_labels *l);

struct metric_value {
        size_t labels; /* where they begin in the set's text, each with a NUL behind it */
        bool is_whole;
        int64_t whole;
        double real;
};

struct metric_set {
        VEC(struct metric_value) values[METRIC_N];
        VEC(char) text;
        struct map places; /* hash of metric and labels -> place among its values */
        struct counter_keeper
                *keeper; /* the caller's, of all sets that are told one after the other */
};
/* Values of the same labels are added up: a metric has each of its label sets once. */
void metric_put(struct metric_set *set, enum metric_id id, struct metric_labels *l, uint64_t value);
void metric_put_signed(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                       int64_t value);
void metric_put_real(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                     double value);
/* Of a counter: what one source of it (a process of a recording) has counted; nanoseconds where its unit is seconds. Told is what never
 * goes down. */
void metric_count(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                  uint64_t source, uint64_t value);
void metric_set_clear(struct metric_set *set);
void metric_set_done(struct metric_set *set);
