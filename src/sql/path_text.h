/* SPDX-License-Identifier: MIT */
/* Call paths in words: the function that asked, and the whole path in one text, which is the same for the same code in two traces.
 * Inside sql/ only. */
#pragma once

#include "base/str.h"
#include "sql/space.h"

/* The frame that asked for the memory; all "" where there is none. */
struct query_frame path_asker(struct sql_space *s, uint32_t stack);

/* Appends the functions that reports show, the one that asked first: "read_line < parse < main". "(no stack)" of none. */
void path_add(struct sql_space *s, uint32_t stack, const char *separator, struct str *to);
/* The same with " < "; valid until the next call. */
const char *path_text(struct sql_space *s, uint32_t stack);

/* The first of them, the function that asked as reports show it: a place (app+0x1234) where it has no name, or a guessed one. Valid until
 * the next call. */
const char *path_name(struct sql_space *s, uint32_t stack);

/* Of samples of time: the same with nothing left out, and the innermost function. */
const char *path_whole(struct sql_space *s, uint32_t stack);
const char *path_innermost(struct sql_space *s, uint32_t stack);

void path_texts_done(struct sql_space *s);
