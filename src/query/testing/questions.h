/* SPDX-License-Identifier: MIT */
/* For tests: one question of each kind, and a number that stands for all of its answer, to hold two ways of asking against each
 * other. */
#pragma once

#include "query/query.h"

enum question {
        QUESTION_ASK,
        QUESTION_FUNCTIONS,
        QUESTION_SIZES,
        QUESTION_PROCESSES,
        QUESTION_TREE,
        QUESTION_HISTORY,
        QUESTION_HISTORY_BY_WORK,
        QUESTION_HISTORY_BY_THREAD,
        QUESTION_TIMELINE,
        QUESTION_HISTOGRAM,
        QUESTION_MOVES,
        QUESTION_MAPPINGS,
        QUESTION_RESIDENCY,
        QUESTION_THREADS,
        QUESTION_BLOCKS,
        QUESTION_CURSORS, /* all of them, row by row */
        N_QUESTIONS,
};
const char *question_name(enum question question);

/* 0 or -errno. Answers that are equal have the same digest. */
int question_ask(struct query *q, enum question question, const struct query_scope *scope,
                 uint64_t *ret_digest, struct err *reterr);

/* All kinds about one scope: the first that differs, as it is called, or NULL. Both must answer. */
const char *questions_compare(struct query *x, struct query *y, const struct query_scope *scope);
