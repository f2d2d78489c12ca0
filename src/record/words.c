/* SPDX-License-Identifier: MIT */
#include "record/words.h"

#include <stdio.h>
#include <string.h>

const char *words_plain(const char *text, char *ret, size_t cap) {
        size_t n = 0;

        for (; *text && n + 1 < cap; text++) {
                unsigned char c = (unsigned char)*text;

                ret[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
        }
        ret[n] = 0;
        return ret;
}

const char *words_shell(const char *text, char *ret, size_t cap) {
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
        size_t n = 0;

        if (text[0] && text[0] != '-' && !text[strspn(text, plain)]) {
                snprintf(ret, cap, "%s", text);
                return ret;
        }
        ret[n++] = '\'';
        for (; *text && n + 6 < cap; text++) {
                if (*text == '\'') {
                        memcpy(ret + n, "'\\''", 4);
                        n += 4;
                } else {
                        ret[n++] = *text;
                }
        }
        ret[n++] = '\'';
        ret[n] = 0;
        return ret;
}
