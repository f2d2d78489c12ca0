/* SPDX-License-Identifier: MIT */
/* Changing a text that is being written. Inside name/ only. */
#pragma once

#include "base/str.h"

void text_set(struct str *s, const char *text, size_t n);
void text_cut(struct str *s, size_t n);                      /* to its first n bytes */
void text_take_out(struct str *s, size_t begin, size_t end); /* [begin, end) */
size_t text_width_from(const struct str *s, size_t begin);   /* in cells */

/* Drops what stands before the last `::` of every path from begin on; all of it where brackets are
 * too deep. */
void text_drop_qualifiers(struct str *s, size_t begin);
