/* SPDX-License-Identifier: MIT */
/* Tasks of asynchronous programs on the screen: a row for each type and place where such were spawned; behind them the sources of GLib's main
 * loops, by kind and place. Inside top/ only. */
#pragma once

#include "top/canvas.h"
#include "top/top_model.h"

/* Headings; returns the row below. */
size_t tasks_draw_heads(struct canvas *c, const struct model *m, size_t row);
void tasks_draw_row(struct canvas *c, const struct model *m, size_t row, size_t at);
/* All about the chosen one, above row `end`, as rows are short; returns where that begins. */
size_t tasks_draw_chosen(struct canvas *c, const struct model *m, size_t at, size_t end);
