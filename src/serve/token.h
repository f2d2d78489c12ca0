/* SPDX-License-Identifier: MIT */
/* The word that lets a client in: 128 random bits, as 32 hexadecimal digits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { TOKEN_DIGITS = 32 };

struct token {
        char text[TOKEN_DIGITS + 1];
};

int token_make(struct token *ret, struct err *reterr);
/* Takes the same time whatever the n bytes are. */
bool token_is(const struct token *t, const char *text, size_t n);
