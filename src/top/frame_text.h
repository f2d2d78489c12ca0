/* SPDX-License-Identifier: MIT */
/* One frame of silt top for logs and programs: as lines of text, or as JSON (schema silt.top/1). Inside top/ only. */
#pragma once

#include <stdio.h>

#include "top/top_model.h"

enum { FRAME_MAX_ROWS = 20 };

void frame_text_write(FILE *out, const struct model *m);
void frame_json_write(FILE *out, const struct model *m);
