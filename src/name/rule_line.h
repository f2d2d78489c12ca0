/* SPDX-License-Identifier: MIT */
/* Files of rules, line by line: what a line is made of, whatever its rules are about. Inside name/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum {
        RULE_MAX_LINE_BYTES = 4096,
        RULE_MAX_FILE_BYTES = 1 << 20,
};

/* A stretch of the line. */
struct rule_span {
        const char *p;
        size_t n;
};

/* Calls fn with every line that is not empty, without its comment and the blanks around it, until it says why a line is no rule.
 * -EINVAL and one sentence about that line, which begins with `what`. */
typedef const char *(*rule_line_fn)(void *ctx, struct rule_span line);
int rule_each_line(const char *what, const char *where, const char *text, size_t n, rule_line_fn fn,
                   void *ctx, struct err *reterr);
int rule_each_line_of_file(const char *what, const char *path, rule_line_fn fn, void *ctx,
                           struct err *reterr);

bool rule_is_blank(char c);
struct rule_span rule_trim(struct rule_span s);
bool rule_span_is(struct rule_span s, const char *text);
struct rule_span rule_take_word(struct rule_span *rest);
/* Where text last stands in s; NULL: nowhere. */
const char *rule_find_last(struct rule_span s, const char *text);

/* PATTERN [in MODULE] [at FILE] */
struct rule_place {
        struct rule_span pattern;
        const char *module; /* glob of the module's file name; NULL: any */
        const char *file;   /* glob of the source file's path; NULL: any */
};
/* NULL, or why it is none. Texts belong to the arena. */
const char *rule_take_place(struct arena *a, struct rule_span rest, struct rule_place *ret);
bool rule_has_arguments(struct rule_span pattern); /* `<trait>::f` and `operator<` have none */
bool rule_glob_fits(const char *glob, const char *text); /* NULL fits everything */
