/* SPDX-License-Identifier: MIT */
/* The figures of a run in one block, and in the words of valgrind's memcheck. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

void totals_print(const struct style *s, const struct report *r);
void totals_print_heap_summary(const struct style *s, const struct report *r);
