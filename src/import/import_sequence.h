/* SPDX-License-Identifier: MIT */
/* The order of dumps that a profiler numbered. Shells sort names as text, .10 before .2. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* By the first number in which names differ, if every two of them first differ in a number; else they stay as they are. True: the order
 * is another one now. */
bool import_sequence_sort(const char **paths, size_t n);
