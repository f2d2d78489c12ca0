/* SPDX-License-Identifier: MIT */
#include "serve/token.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

int token_make(struct token *ret, struct err *reterr) {
        uint8_t random[TOKEN_DIGITS / 2];

        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return err_set_errno(reterr, -errno, "cannot draw a token");
        for (size_t i = 0; i < sizeof(random); i++)
                snprintf(ret->text + 2 * i, 3, "%02x", random[i]);
        return 0;
}

bool token_is(const struct token *t, const char *text, size_t n) {
        unsigned differs = n != TOKEN_DIGITS;

        for (size_t i = 0; i < TOKEN_DIGITS;
             i++) /* over something, also where there is too little */
                differs |= (unsigned)(t->text[i] ^ (i < n ? text[i] : 0)) & 0xff;
        return differs == 0;
}
