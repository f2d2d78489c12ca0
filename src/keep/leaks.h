/* SPDX-License-Identifier: MIT */
/* silt leaks: which memory nothing points to any more, by memcheck's classes (docs/leaks.md). */
#pragma once

#include "keep/kept_leaks.h"
#include "show/show_options.h"

struct leaks_options {
        struct show_options view;
        bool is_full;         /* whole call paths */
        bool shows_reachable; /* records of what is still reachable, and indirectly lost, too */
        suppression_files suppressions;
        bool gen_suppressions; /* entries for the records instead of the records */
};
#define LEAKS_OPTIONS_DEFAULT ((struct leaks_options){.view = SHOW_OPTIONS_DEFAULT})

int leaks_print(FILE *out, const struct leaks_options *o, struct err *reterr);
