/* SPDX-License-Identifier: MIT */
#include "base/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

struct range {
        uint32_t first, last;
};

static const struct range unseen[] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},
                                      {0x61c, 0x61c},   {0x180e, 0x180e},  {0x200b, 0x200f},
                                      {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                      {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

static bool is_unseen(uint32_t c) {
        for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
                if (c >= unseen[i].first && c <= unseen[i].last)
                        return true;
        return false;
}

size_t visible_first(const char *text, size_t n, char ret_shown[VISIBLE_MAX], size_t *ret_n_shown) {
        uint32_t c = 0;
        size_t len = str_utf8_decode(text, n, &c);

        if (len == 0) {
                *ret_n_shown =
                        (size_t)snprintf(ret_shown, VISIBLE_MAX, "\\x%02x", (unsigned char)text[0]);
                return 1;
        }
        if (is_unseen(c)) {
                *ret_n_shown = (size_t)snprintf(ret_shown, VISIBLE_MAX,
                                                c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
        } else {
                memcpy(ret_shown, text, len);
                ret_shown[len] = '\0';
                *ret_n_shown = len;
        }
        return len;
}

void visible_add(struct str *to, const char *text) {
        size_t n_left = strlen(text), n_shown;
        char shown[VISIBLE_MAX];

        while (n_left) {
                size_t n = visible_first(text, n_left, shown, &n_shown);

                str_addn(to, shown, n_shown);
                text += n;
                n_left -= n;
        }
}
