/* SPDX-License-Identifier: MIT */
/* The answer of silt leaks, gathered, and its two forms. Inside keep/ only. */
#pragma once

#include "keep/kept_graph.h"
#include "keep/leaks.h"
#include "keep/loss_records.h"
#include "show/frame.h"

struct leaks {
        const struct leaks_options *options;
        struct kept_graph graph;
        struct query_answer *answer; /* of that process until then */
        loss_record_list records;
        struct frame_names names;
};

extern const char *const leak_class_words[N_LEAK_CLASSES]; /* memcheck's: "definitely lost" */

void leaks_text(FILE *out, const struct leaks *l);
void leaks_json(FILE *out, const struct leaks *l);
