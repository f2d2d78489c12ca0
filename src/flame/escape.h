/* SPDX-License-Identifier: MIT */
/* Names of functions are anybody's bytes: how they get into SVG, HTML and scripts as text and nothing else.
 * Inside flame/ only. */
#pragma once

#include "base/str.h"

/* Appends text for the content or a quoted attribute of an element. What XML does not allow becomes U+FFFD. */
void escape_add_xml(struct str *to, const char *text);

/* Appends text as a string of JavaScript with its quotes. No '<', '>' or '&' is left in it, so that neither "</script>" nor
 * "]]>" can be. */
void escape_add_script(struct str *to, const char *text);
