/* SPDX-License-Identifier: MIT */
/* Who holds on to what grows or is left behind, if the trace has a graph. */
#pragma once

#include "report/gather.h"

struct finding_holders {
        char **of; /* of each finding: "static sessions+16 → insert (map.c:31)"; NULL: unknown, or it is about nothing that is held */
        size_t n;
};

void finding_holders_find(struct finding_holders *h, const struct report *r, bool utf8);
void finding_holders_done(struct finding_holders *h);
