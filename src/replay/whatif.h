/* SPDX-License-Identifier: MIT */
/* silt whatif: the recorded allocations again under other allocators, and what the peak would be without some of them (docs/whatif.md). */
#pragma once

#include <stdio.h>

#include "replay/contender.h"
#include "show/show_options.h"

enum whatif_pace { PACE_AS_SUITS, PACE_RECORDED, PACE_FAST };

struct whatif_options {
        struct show_options view;
        struct contenders
                contenders; /* owned by who made the options; the recorded allocator is added where it is missing */
        enum whatif_pace pace;
        bool only_estimates; /* nothing is replayed */
};
#define WHATIF_OPTIONS_DEFAULT ((struct whatif_options){.view = SHOW_OPTIONS_DEFAULT})

#define WHATIF_MARK "<!-- silt whatif -->"
enum { WHATIF_MARK_WITHIN = 256 };

/* picture: gets an SVG; NULL: none is wanted. Refused where there is nothing to draw. */
int whatif_print(FILE *out, FILE *picture, struct whatif_options *o, struct err *reterr);
