/* SPDX-License-Identifier: MIT */
/* Who writes what. Inside diff/ only. */
#pragma once

#include "diff/paired.h"

void diff_text(FILE *out, const struct diff *d);
void diff_json(FILE *out, const struct diff *d);

/* What both tell of the totals, in one order. */
struct total_row {
        const char *key, *name; /* in JSON, for people */
        enum { TOTAL_BYTES, TOTAL_COUNT, TOTAL_NS } unit;
        bool is_flow; /* grows with the length of the window */
        double values[NAME_N_SIDES];
        bool is_known[NAME_N_SIDES];
};
enum { TOTALS_MAX = 10 };
size_t diff_totals(const struct diff *d, struct total_row *rows);
