/* SPDX-License-Identifier: MIT */
/* The checks with what was measured. Inside diff/ only. */
#pragma once

#include "diff/check.h"
#include "diff/side.h"
#include "show/style.h"

enum { CHECK_CULPRITS = 3 };

/* A function that has a large part in a failure. */
struct culprit {
        char *name, *place;
        double value;
};

struct check_result {
        const struct limit *limit;
        double measured;
        double base;               /* LIMIT_AGAINST: what the other recording has */
        double growth_bytes_per_s; /* LIMIT_GROWTH: also where the limit is in percent */
        enum check_status status;
        char remark[160]; /* "" none; begins with a small letter */
        struct culprit culprits[CHECK_CULPRITS];
        size_t n_culprits;
};

struct check {
        const struct check_options *options;
        struct diff_side side;
        VEC(struct check_result) results;
        struct str doubt, base_doubt; /* of the recording, and of the one it is compared with */
};

int check_measure(struct check *c, const struct check_options *o, struct err *reterr);
void check_done(struct check *c);

enum check_status check_status_of(const struct check *c);
size_t check_count(const struct check *c, enum check_status s);
const char *check_status_name(enum check_status s);
