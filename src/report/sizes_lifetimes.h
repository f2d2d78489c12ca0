/* SPDX-License-Identifier: MIT */
/* Sizes and lifetimes in a few rows, beside each other. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* Sizes are read from events, and only where these are few. Nothing is printed where nothing was allocated. */
int sizes_lifetimes_print(const struct style *s, const struct report *r, struct err *reterr);

/* Appends a bar of `part` of `whole` in at most `width` cells. */
void sizes_lifetimes_add_bar(const struct style *s, struct str *to, uint64_t part, uint64_t whole,
                             size_t width);
