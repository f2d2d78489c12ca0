/* SPDX-License-Identifier: MIT */
/* Text from a trace as it may be shown. Characters that cannot be seen, that steer a terminal, or that make text read otherwise than it
 * stands there (controls, bidi controls, spaces of no width) are written as escapes: \x0a below 0x80, \u{202e} above; bytes that are no
 * UTF-8 as \xff. web/model/visible.ts writes the same. */
#pragma once

#include <stddef.h>

#include "base/str.h"

enum { VISIBLE_MAX = 16 };

/* The first character of n bytes, n > 0, as it may be shown. Returns how many bytes it is of. */
size_t visible_first(const char *text, size_t n, char ret_shown[VISIBLE_MAX], size_t *ret_n_shown);

void visible_add(struct str *to, const char *text);
