/* SPDX-License-Identifier: MIT */
/* A string that grows: `struct str s = {0}; str_addf(&s, "%d", 3); puts(str_text(&s)); str_done(&s);` */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct str {
        char *bytes;
        size_t n, cap;
};

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As a shell wants it: quoted when it holds anything but letters, digits and -_./=:,+@% */
void str_add_shell(struct str *s, const char *text);
void str_pad(struct str *s, char c, size_t n);
const char *str_text(struct str *s); /* NUL-terminated; "" when empty */
void str_clear(struct str *s);
void str_done(struct str *s);

/* Length of the well-formed UTF-8 sequence that text begins with, 0 when there is none; 1 at its end. */
size_t str_utf8_len(const char *text);
/* The same of at most n_bytes, one at least, with the character's code. */
size_t str_utf8_decode(const char *text, size_t n_bytes, uint32_t *ret_code);

/* Cells a UTF-8 text takes on a terminal: two for the wide characters of East Asia, none for accents that stand upon the letter before
 * them, as the C library says. */
size_t str_width(const char *text);
/* Of its first character, and that one's length in bytes; text is not empty. */
size_t str_first_width(const char *text, size_t *ret_n_bytes);
