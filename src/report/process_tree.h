/* SPDX-License-Identifier: MIT */
/* Processes as a tree, each with its own peak and end. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* Of many the largest with those they come from; nothing where there is one only. */
void process_tree_print(const struct style *s, const struct report *r);
