/* SPDX-License-Identifier: MIT */
/* Numbers for people: sizes, durations, counts; and the same read back from the command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Text of less than 40 bytes; each call fills the caller's buffer and returns it. */
struct unit_text {
        char s[40];
};

/* 1024-based, as options take sizes: "41.2 MiB", "812 B"; from 1000 of a unit on without a tenth ("1012 KiB"), so that no text
 * is wider than 9 cells, 10 with a sign. */
const char *unit_bytes(struct unit_text *t, uint64_t bytes);
const char *unit_bytes_signed(struct unit_text *t, int64_t bytes);
const char *unit_count(struct unit_text *t, uint64_t n); /* "1,234,567" */
const char *unit_time(struct unit_text *t,
                      uint64_t ns); /* to the nanosecond, as options take it: "1250ms" */
const char *unit_duration(struct unit_text *t, uint64_t ns); /* "1.25 s", "12 ms", "3 h 12 min" */

/* What the figures of the trace at hand are, where they are not bytes. Numbers as in enum trace_unit. */
enum unit_weights { UNIT_BYTES, UNIT_SAMPLES, UNIT_NS, UNIT_OTHER, UNIT_N };
void unit_set_weights(unsigned unit);
/* What this thread was asked about last: one recording has bytes and time, and a server tells both at once. */
void unit_ask_weights(unsigned unit);
enum unit_weights unit_weights(void);
const char *unit_weight_name(void); /* "bytes", "samples", "time", "units" */
/* As unit_bytes, or "12,345 samples", "1.25 s", "12,345 units"; wider then. */
const char *unit_weight(struct unit_text *t, uint64_t v);
const char *unit_weight_signed(struct unit_text *t, int64_t v);
int unit_weight_width(void); /* of a column of them with a sign */

/* The nearest whole number; 0 and UINT64_MAX for what lies outside: figures of a damaged trace may. */
static inline uint64_t unit_nearest(double v) {
        if (!(v >= 0.5))
                return 0;
        return v < 18446744073709549568.0 ? (uint64_t)(v + 0.5) : UINT64_MAX;
}

int unit_parse_bytes(const char *text, uint64_t *ret_bytes,
                     struct err *reterr); /* 512K 1M 2G; 1024-based, "1.5 MiB" too */
int unit_parse_duration(const char *text, uint64_t *ret_ns,
                        struct err *reterr); /* 90s 5m 250ms 1.5h 10us */
int unit_parse_count(const char *text, uint64_t *ret_n,
                     struct err *reterr); /* 100000 100K 1.5M; 1000-based, 1,000,000 too */

/* "s", or nothing behind one: "%s block%s". */
static inline const char *unit_s(uint64_t n) {
        return n == 1 ? "" : "s";
}
