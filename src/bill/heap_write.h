/* SPDX-License-Identifier: MIT */
/* The forms a picture of the heap takes. Inside bill/ only. */
#pragma once

#include "base/str.h"
#include "bill/heap_cells.h"

void heap_write_svg(struct str *to, const struct heap_cells *h, const char *title,
                    const char *subtitle);
/* The first moment. */
void heap_write_json(FILE *out, const struct query *q, const struct heap_cells *h);
void heap_write_film(FILE *out, const struct heap_cells *h, const char *title);
