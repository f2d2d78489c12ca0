/* SPDX-License-Identifier: MIT */
/* Which call paths have a function that a regular expression matches: those that the condition "function" of a filter selects
 * (docs/query.md). Made for many questions about one pattern: each name is searched once, and only those of call paths that were
 * asked about. */
#pragma once

#include "query/query.h"

struct path_search;

int path_search_new(struct query *q, const char *pattern, struct path_search **ret,
                    struct err *reterr);
struct path_search *path_search_free(struct path_search *s); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct path_search, path_search_free)

const char *path_search_text(const struct path_search *s); /* the pattern */
/* Also names as people are shown them: short forms, and places of code without a name. Before anything is asked. */
void path_search_with_labels(struct path_search *s);
/* Whether the frame's name matches. */
bool path_search_has_frame(struct path_search *s, const struct query_frame *f);
/* 1 it has one, 0 it has none or there is no such call path, or -E2BIG: the pattern takes too long. */
int path_search_has(struct path_search *s, uint32_t stack, struct err *reterr);
