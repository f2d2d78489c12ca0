/* SPDX-License-Identifier: MIT */
/* The sites that matter most, in text. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* The n_top sites of the report's metric, largest first, as trees, or with --full as whole stacks. Sorts folded. */
void sites_print(const struct style *s, struct report *r);
