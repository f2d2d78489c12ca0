/* SPDX-License-Identifier: MIT */
/* Call paths in text. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* The n_top sites of the report's metric, largest first, as trees, or with --full as whole stacks. Sorts folded. */
void sites_print(const struct style *s, struct report *r);

/* One stack, innermost first, indented; at most max_frames of it (0: all). */
void sites_print_stack(const struct style *s, const struct report *r, uint32_t stack, size_t indent,
                       size_t max_frames);

/* Appends "via f": the library function through which the program asked, or asked for most; nothing where there is none. */
void sites_add_via(const struct style *s, const struct report *r, uint32_t stack, struct str *to);

/* The function that asked and its callers in one line of at most width cells. */
void sites_add_short(const struct style *s, const struct report *r, uint32_t stack, struct str *to,
                     size_t width);
