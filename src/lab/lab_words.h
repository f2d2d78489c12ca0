/* SPDX-License-Identifier: MIT */
/* What the lab says: sentences and JSON. */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "lab/find_limit.h"
#include "lab/limit_group.h"
#include "lab/trial.h"

/* A run that was recorded. */
struct lab_outcome {
        bool has_run;
        int wait_status;
        uint64_t max_rss_bytes;   /* of the program's largest process; 0: not known */
        struct group_usage usage; /* when it ended */
        size_t n_left;            /* processes it left, which were ended */
};

/* Each adds one sentence. */
void lab_words_outcome(const struct group *g, const struct lab_outcome *o, struct str *ret);
void lab_words_limit(const struct group *g, struct str *ret);
void lab_words_note(const struct group *g, struct str *ret); /* for the trace */
void lab_words_json(const struct group *g, const struct lab_outcome *o, char **argv, FILE *to);

void lab_words_free_run(const struct trial *t, struct str *ret);
void lab_words_step(const struct find_step *s, struct str *ret);
void lab_words_answer(const struct find_answer *a, struct str *ret);
void lab_words_next(const struct find_answer *a, char **argv, struct str *ret); /* a command */
void lab_words_search_json(const struct trial *free_run, const struct find_answer *a, char **argv,
                           FILE *to);
