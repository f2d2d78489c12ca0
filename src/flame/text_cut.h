/* SPDX-License-Identifier: MIT */
/* Texts made to fit. Inside flame/ only. web/model/cut.ts cuts by the same rule. */
#pragma once

#include "base/str.h"

/* Cells of a fixed-width font that a UTF-8 text takes: two for the wide characters of East Asia, none for what
 * combines with the character before. */
size_t text_cut_cells(const char *text);

/* Appends a name in at most `cells` cells, cut in the middle: what it begins with says whose it is, what it ends with what it
 * does. The part behind the last "::" stays whole where half of the room suffices for the rest. Nothing where the
 * room is less than five cells and too little. */
void text_cut_add_name(struct str *to, const char *name, size_t cells);

/* Bytes of the next line of at most `cells` cells, broken at a blank where there is one; *ret_skip more are blanks. */
size_t text_cut_line(const char *text, size_t cells, size_t *ret_skip);
