/* SPDX-License-Identifier: MIT */
#include "import/build_id.h"

#include <string.h>

#include "base/macros.h"

static uint8_t hex_digit(char c) {
        return (uint8_t)(c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 0xff);
}

/* Go has texts of its own there: such a one is none. */
size_t build_id_parse(const char *text, uint8_t *ret, size_t cap) {
        size_t n = strlen(text) / 2;

        if (strlen(text) % 2 || n > cap)
                return 0;
        for (size_t i = 0; i < n; i++) {
                uint8_t high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

                if (high == 0xff || low == 0xff)
                        return 0;
                ret[i] = (uint8_t)(high << 4 | low);
        }
        return n;
}
