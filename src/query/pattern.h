/* SPDX-License-Identifier: MIT */
/* Regular expressions over bytes that cannot be made slow: POSIX extended ones without back
 * references, found anywhere in a text unless anchored. docs/query.md has the grammar.
 * A search takes at most text length × steps of the pattern; a pattern has at most
 * PATTERN_MAX_STEPS. It says whether it matches, not where. Inside query/ only. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

enum { PATTERN_MAX_STEPS = 1000 };

struct pattern;

int pattern_new(const char *text, struct pattern **ret, struct err *reterr);
struct pattern *pattern_free(struct pattern *p); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct pattern, pattern_free)

const char *pattern_text(const struct pattern *p);

/* Not safe from two threads at once: the pattern holds the scratch space. */
bool pattern_matches(struct pattern *p, const char *text);
