/* SPDX-License-Identifier: MIT */
/* Names of functions are anybody's bytes: how they get into SVG as text and nothing else. */
#pragma once

#include "base/str.h"

/* Appends text for the content or a quoted attribute of an element. What XML does not allow becomes U+FFFD. */
void escape_add_xml(struct str *to, const char *text);
