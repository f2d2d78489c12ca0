/* SPDX-License-Identifier: MIT */
/* What the output can show: width, colours, UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

struct style {
        FILE *out;
        size_t width;
        bool utf8;
        /* escape sequences, or "" */
        const char *bold, *dim, *live, *rss, *alarm, *plain;
};

/* Width from COLUMNS, the terminal, or 80; colours on a terminal unless NO_COLOR; UTF-8 by the
 * locale. */
/* A terminal that understands nothing but lines. */
bool style_is_dumb(void);
void style_init(struct style *s, FILE *out);
/* As wide as it really is, not as wide as prose should be. */
size_t style_columns(FILE *out);

void style_heading(const struct style *s, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Appends text from a program or its files with control characters and bytes that are no UTF-8 as \\xNN: they
 * would move the cursor or break lines. Blanks at its end go. */
void style_add_clean(struct str *to, const char *text);

/* Prints text, cleaned, in lines of at most the width and of 120 cells, the first begun at column `indent` already. */
void style_wrap(const struct style *s, const char *text, size_t indent);

/* Appends text cut in the middle to at most `width` cells. */
void style_add_cut(const struct style *s, struct str *to, const char *text, size_t width);

/* Cells that text takes, colours not counted. */
size_t style_width(const char *text);
size_t style_width_n(const char *text, size_t n_bytes); /* of text without colours */

/* Appends spaces until `to`, begun at byte `begin`, is `width` cells wide. */
void style_pad_to(struct str *to, size_t begin, size_t width);
