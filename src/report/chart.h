/* SPDX-License-Identifier: MIT */
/* The timeline as a picture of characters. Inside report/ only. */
#pragma once

#include "query/query.h"
#include "show/style.h"

struct chart_mark {
        uint64_t time_ns;
        const char *text; /* as it was given */
        bool is_snapshot;
};

struct chart {
        const struct query *q; /* whose clock tells the times */
        const struct query_column *columns;
        size_t n_columns;
        uint64_t peak_ns, peak_bytes; /* to be marked */
        unsigned n_rows;
        const struct chart_mark *marks; /* in the columns' time, in order */
        size_t n_marks;
};

/* How many columns fit the width. */
size_t chart_n_columns(const struct style *s);

void chart_draw(const struct style *s, const struct chart *c);
