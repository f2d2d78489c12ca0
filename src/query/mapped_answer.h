/* SPDX-License-Identifier: MIT */
/* Questions about mappings (struct query_scope, of_mappings). Inside query/ only. */
#pragma once

#include "query/query_internal.h"

struct timeline;
struct pick;

/* query_ask; is_split: the sites of each process apart. */
int mapped_ask(struct query *q, const struct query_scope *scope, bool is_split,
               struct query_answer **ret, struct err *reterr);
/* Draws what was mapped. */
int mapped_draw(struct timeline *t, const struct pick *pick, struct err *reterr);
