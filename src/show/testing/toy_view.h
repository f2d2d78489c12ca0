/* SPDX-License-Identifier: MIT */
/* For tests: the smallest view there can be, to see that views stay small. It answers the query of a URL with JSON:
 * what is asked about in groups, by call path unless the query says otherwise. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* url: n bytes, such as "group-by=function&by=end&from=5s". */
int toy_view(FILE *out, const char *path, const char *url, size_t n, struct err *reterr);
