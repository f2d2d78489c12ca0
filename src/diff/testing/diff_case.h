/* SPDX-License-Identifier: MIT */
/* What diff_fuzz does with two traces: the bytes behind them, which its seeds set. */
#pragma once

#include <stdint.h>

enum diff_choice {
        DIFF_CASE_REHASH = 1, /* makes the checksums right first */
        DIFF_CASE_JSON = 2,
        DIFF_CASE_ALL = 4,  /* processes; of a check */
        DIFF_CASE_FULL = 8, /* of a check: limits that nothing keeps */
        DIFF_CASE_CHECK = 16,
        DIFF_CASE_WINDOW = 32, /* of each */
        DIFF_CASE_NOTED = 64,  /* changes of any size; of a check: leaks too */
        DIFF_CASE_STRICT = 128,
};

/* The last bytes of an input. */
struct diff_case {
        uint8_t metric; /* modulo their number */
        uint8_t asked;  /* a question, modulo their number; from DIFF_CASE_PLAIN on without rules */
        uint8_t n_first[2]; /* bytes of the first trace, low ones first */
        uint8_t choice;     /* enum diff_choice */
};

enum { DIFF_CASE_PLAIN = 32 };

static const char *const diff_questions[] = {
        "",       "process=100", "process=fabric", "process=x",     "process=all",  "per-second",
        "site=1", "not-site=1",  "function=main",  "thread=worker", "size=1..2000",
};
