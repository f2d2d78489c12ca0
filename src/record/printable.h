/* SPDX-License-Identifier: MIT */
/* Names made fit for a message: a program may be called anything, and a message is one line. */
#pragma once

#include <stddef.h>

/* Control bytes become '?'. Cut at cap. Returns ret. */
const char *printable_line(const char *text, char *ret, size_t cap);
