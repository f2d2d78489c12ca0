/* SPDX-License-Identifier: MIT */
/* Regular expressions over bytes, found anywhere in a text unless anchored: those of PCRE2, with
 * limits, since patterns may come from anyone and names from any file. A pattern that takes too
 * long says so; it is never taken for one that does not match. For query/ and those who find functions by name. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

struct pattern;

int pattern_new(const char *text, struct pattern **ret, struct err *reterr);
struct pattern *pattern_free(struct pattern *p); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct pattern, pattern_free)

/* Not safe from two threads at once: the pattern holds the scratch space. */
bool pattern_matches(struct pattern *p, const char *text);

/* As it was written. */
const char *pattern_text(const struct pattern *p);

/* 0 while every search so far came to its end; else -E2BIG: their answers are not to be used. */
int pattern_check(const struct pattern *p, struct err *reterr);
