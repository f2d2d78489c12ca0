/* SPDX-License-Identifier: MIT */
/* When the memory of a process is looked at, and which of many processes comes first. Inside record/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is known of a process's looks. */
struct bill_turn {
        uint64_t began_ns;
        uint64_t last_ns, n_bills; /* the last look, and how many there were */
        uint64_t anon_bytes;       /* by the last sample */
        uint64_t high_bytes;       /* the most that it had at a look */
};

/* The share of the recorder's time that looks may take is free from here on. */
struct bill_share {
        uint64_t not_before_ns;       /* for any look */
        uint64_t not_before_grown_ns; /* at memory that has grown; not later than the other */
        uint64_t all_bytes;           /* of all processes: what is little of it has to wait */
};

uint64_t bill_turn_due(const struct bill_turn *t, const struct bill_share *s, uint64_t now_ns);

/* Bytes that looks do not know: all that it has more than at any look, or of what was seen as large a part as of its life it has waited. Of those that
 * are due the one with most is next. */
uint64_t bill_turn_weight(const struct bill_turn *t, uint64_t now_ns);
