/* SPDX-License-Identifier: MIT */
#include "top/bars.h"

static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii[] = {" ", ".", ":", "|", "#"};

/* In steps of a cell's part, rounded up so that what is there shows. */
static uint64_t steps_of(uint64_t value, uint64_t most, uint64_t n_steps) {
        if (!value)
                return 0;
        if (!most || value >= most)
                return n_steps;
        return MAX((uint64_t)((double)value / (double)most * (double)n_steps + 0.5), (uint64_t)1);
}

void bars_draw(struct canvas *c, const struct bars *b) {
        const char *const *glyphs = c->utf8 ? blocks : ascii;
        uint64_t a_cell = (c->utf8 ? ARRAY_SIZE(blocks) : ARRAY_SIZE(ascii)) - 1;

        for (size_t i = 0; i < MIN(b->n, b->width); i++) {
                uint64_t n = steps_of(b->values[i], b->most, a_cell * b->height);

                for (size_t up = 0; up < b->height; up++) {
                        uint64_t part = n > up * a_cell ? MIN(n - up * a_cell, a_cell) : 0;

                        canvas_put_within(c, b->row + b->height - 1 - up, b->col + i,
                                          b->col + i + 1, b->ink, glyphs[part]);
                }
        }
}
