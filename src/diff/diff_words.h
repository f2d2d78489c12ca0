/* SPDX-License-Identifier: MIT */
/* Figures and changes in words. Inside diff/ only. */
#pragma once

#include "base/units.h"
#include "diff/paired.h"
#include "show/style.h"

struct words {
        char s[48];
};

/* "12.1 MiB", "1,234", "3.4 MiB/s"; signed: "+12.1 MiB". */
const char *words_value(const struct diff *d, double v, struct words *w);
const char *words_change(const struct diff *d, double v, struct words *w);
/* "+24 %", "x 12" where it grew manifold; "" where there was nothing before. */
const char *words_percent(double old, double new, struct words *w);

/* "live at the peak", "still allocated at the end", "bytes allocated a second". */
void words_add_state(const struct diff *d, struct str *to);
/* The first sentence. */
void words_add_verdict(const struct diff *d, const struct style *s, struct str *to);
/* A sentence about totals of other metrics that changed much; nothing where none did. */
void words_add_others(const struct diff *d, struct str *to);
/* What the row's function is called, "(no stack)" where there is none; with full as the trace has it. */
void words_add_function(const struct diff *d, const struct diff_row *row, bool full, bool utf8,
                        struct str *to);
/* Where it is, or "". */
void words_add_place(const struct diff *d, const struct diff_row *row, bool full, struct str *to);
/* ", was OLD" when it had another name. */
void words_add_old_name(const struct diff *d, const struct diff_row *row, bool utf8,
                        struct str *to);
