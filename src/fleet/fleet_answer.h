/* SPDX-License-Identifier: MIT */
/* How answers are put together. Inside fleet/ only. */
#pragma once

#include "fleet/fleet_question.h"
#include "fleet/fleet_sql.h"

void fleet_answer_doubt(struct fleet_answer *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* Value of a cell; 0 where there is no such column. */
double fleet_answer_number(const struct fleet_answer *a, size_t row, const char *key);
const char *fleet_answer_text(const struct fleet_answer *a, size_t row, const char *key);

/* Of two builds: what the sentence needs beside the rows. */
struct fleet_sides {
        uint64_t n_old, n_new; /* processes that are compared */
        uint64_t n_late;       /* and that are not: nothing is known of them from so early */
        struct fleet_ages ages;
        double old_mean, new_mean, error; /* of live bytes of a process; of the difference */
};

void fleet_say(struct fleet_answer *a, const struct fleet_sides *sides); /* the sentence */
