/* SPDX-License-Identifier: MIT */
/* The sites that matter most as trees: what call paths have in common is told once. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* The n_top sites of the report's metric, and the sum of all others; nothing where there is none. */
void site_forest_print(const struct style *s, struct report *r);

/* "Live at the peak, by call path": the heading of what tells the report's metric. */
const char *site_forest_title(const struct report *r);
