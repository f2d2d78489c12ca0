/* SPDX-License-Identifier: MIT */
#include "record/printable.h"

const char *printable_line(const char *text, char *ret, size_t cap) {
        size_t n = 0;

        for (; *text && n + 1 < cap; text++) {
                unsigned char c = (unsigned char)*text;

                ret[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
        }
        ret[n] = 0;
        return ret;
}
