/* SPDX-License-Identifier: MIT */
/* The answer of silt leaks, gathered, and its two forms. Inside keep/ only. */
#pragma once

#include "keep/hidden_pointers.h"
#include "keep/leaks.h"
#include "keep/suppressed.h"
#include "show/frame.h"

struct leaks {
        const struct leaks_options *options;
        struct kept_leaks kept;
        struct query_answer *answer; /* of that process until then */
        struct frame_names names;
        struct hidden_pointers hidden;
};

void leaks_text(FILE *out, const struct leaks *l);
void leaks_entries(FILE *out, const struct leaks *l); /* of suppression files */
void leaks_json(FILE *out, const struct leaks *l);
