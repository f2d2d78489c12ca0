/* SPDX-License-Identifier: MIT */
/* One call path in text: as lines, or in short. */
#pragma once

#include "show/frame.h"
#include "show/style.h"

/* One stack, innermost first, indented; at most max_frames of it (0: all). */
void stack_print(const struct style *s, const struct frame_names *n, uint32_t stack, size_t indent,
                 size_t max_frames);

/* Appends "via f": the library function through which the program asked; has_others: it asked through others too. Nothing
 * where there is none. */
void stack_add_via(const struct style *s, const struct frame_names *n, uint32_t stack,
                   bool has_others, struct str *to);

/* The function that asked and its callers in one line of at most width cells. */
void stack_add_short(const struct style *s, const struct frame_names *n, uint32_t stack,
                     struct str *to, size_t width);
