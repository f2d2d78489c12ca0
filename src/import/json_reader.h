/* SPDX-License-Identifier: MIT */
/* Reads JSON piece by piece, without making a tree of it: files of profilers are large, and a tree takes twenty times as much. Inside
 * import/ only.
 *
 *   json_reader_init(&j, bytes, n);
 *   for (json_reader_open(&j, '{'); json_reader_next(&j);)          // members of an object; of an array with '['
 *           if (json_reader_key_is(&j, "pid")) pid = json_reader_uint(&j);
 *           else json_reader_skip(&j);
 *   if (j.wrong) … the place is j.pos - j.begin
 *
 * The first thing that is not what was asked for sets `wrong`, and everything from then on is 0, "" or over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { JSON_READER_MAX_DEPTH = 64 };

struct json_reader {
        const char *begin, *pos, *end;
        const char *wrong; /* NULL, or why: "a number is missing" */
        struct str key, text;
        unsigned depth;
        char open[JSON_READER_MAX_DEPTH];
        bool is_fresh[JSON_READER_MAX_DEPTH]; /* nothing of it was read yet */
};

void json_reader_init(struct json_reader *j, const void *bytes, size_t n);
void json_reader_done(struct json_reader *j);

bool json_reader_open(struct json_reader *j, char bracket); /* '{' or '[' */
/* Whether there is another member, which is to be read or skipped; false closes what was opened. */
bool json_reader_next(struct json_reader *j);
bool json_reader_key_is(const struct json_reader *j, const char *key);
uint64_t json_reader_uint(struct json_reader *j); /* fractions and signs are wrong */
bool json_reader_bool(struct json_reader *j);
/* Valid until the next string; a NUL in it ends it. */
const char *json_reader_string(struct json_reader *j);
void json_reader_skip(struct json_reader *j); /* whatever it is */
