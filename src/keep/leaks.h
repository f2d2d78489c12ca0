/* SPDX-License-Identifier: MIT */
/* silt leaks: which memory nothing points to any more, by memcheck's classes (docs/leaks.md). */
#pragma once

#include "show/show_options.h"

struct leaks_options {
        struct show_options view;
        bool is_full;         /* all records and whole call paths */
        bool shows_reachable; /* records of what is still reachable too */
};
#define LEAKS_OPTIONS_DEFAULT ((struct leaks_options){.view = SHOW_OPTIONS_DEFAULT})

int leaks_print(FILE *out, const struct leaks_options *o, struct err *reterr);
