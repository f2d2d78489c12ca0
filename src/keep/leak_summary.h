/* SPDX-License-Identifier: MIT */
/* The end of memcheck's answer, in its words: what was lost, by class. */
#pragma once

#include <stdio.h>

#include "keep/kept_leaks.h"

extern const char *const leak_class_words[N_LEAK_CLASSES]; /* "definitely lost" */

void leak_summary_print(FILE *out, const struct kept_leaks *l);
