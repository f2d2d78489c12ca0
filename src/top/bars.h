/* SPDX-License-Identifier: MIT */
/* Values over time as bars of block characters, eight steps a cell; four of ASCII where there is no UTF-8. Inside top/ only. */
#pragma once

#include "top/canvas.h"

struct bars {
        size_t row, col, height, width; /* where */
        enum canvas_ink ink;
        const uint64_t *values; /* one a column, n of them, at most width */
        size_t n;
        uint64_t most; /* as high as all of the height; values above it too */
};

/* A value above 0 shows, however small; 0 is blank. */
void bars_draw(struct canvas *c, const struct bars *b);
