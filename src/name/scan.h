/* SPDX-License-Identifier: MIT */
/* Where words, operators and brackets of a demangled name end. Inside name/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SCAN_MAX_NEST = 1024 }; /* of brackets in brackets: more is no name */

/* What is being read: [begin, end) is the whole text, so that looking back is safe. */
struct scan {
        const char *begin, *p, *end;
};

bool scan_is_word(char c); /* identifiers, and what compilers put into them */
bool scan_at(const struct scan *s, const char *text);
bool scan_at_operator(const struct scan *s); /* the word `operator` */

/* Behind the operator at s->p, without parameters and template arguments: `operator()`,
 * `operator new[]`, `operator std::string` (a conversion). */
const char *scan_operator_end(const struct scan *s);

/* Whether the '<' at s->p opens arguments and is no sign in an expression. */
bool scan_opens_args(const struct scan *s);

/* Behind the bracket that closes the one at s->p; NULL: none does. */
const char *scan_group_end(const struct scan *s);

/* Behind ` const`, ` &`, `[abi:x]`, ` [clone .y]` and the like. */
const char *scan_qualifiers_end(const struct scan *s);

/* The function's own name in a demangled one: what stands behind the return type, and up to the
 * last parameters. *ret is where the path begins (p) and all ends (end). has_params: false when it
 * has none, as in C and Rust, and p is the beginning. False: the brackets do not match. */
bool scan_function(const struct scan *s, struct scan *ret, bool *ret_has_params);
