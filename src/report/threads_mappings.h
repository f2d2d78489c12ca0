/* SPDX-License-Identifier: MIT */
/* Threads and mappings in text. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

void tables_print_threads(const struct style *s, const struct report *r);
void tables_print_mappings(const struct style *s, const struct report *r);
