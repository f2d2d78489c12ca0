/* SPDX-License-Identifier: MIT */
/* A frame onto a canvas: a sentence, figures, the timeline, the rows of the view, keys. Inside top/ only. */
#pragma once

#include "top/ui.h"

enum { DRAW_SCALE_CELLS = 10 }; /* right of the timeline */

/* Says in u->n_shown how many rows there was room for. */
void draw_frame(struct canvas *c, const struct model *m, struct ui *u);
