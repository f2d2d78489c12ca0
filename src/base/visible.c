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

/* The character at p and its length; 0 where the bytes are no UTF-8. */
static size_t decode(const unsigned char *p, size_t n, uint32_t *ret) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t len = p[0] < 0x80   ? 1
                     : p[0] < 0xc2 ? 0
                     : p[0] < 0xe0 ? 2
                     : p[0] < 0xf0 ? 3
                     : p[0] < 0xf5 ? 4
                                   : 0;
        uint32_t c = len == 1 ? p[0] : len ? p[0] & (0x7fu >> len) : 0;

        if (!len || len > n)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (p[i] & 0x3f);
        }
        if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
                return 0;
        *ret = c;
        return len;
}

size_t visible_first(const char *text, size_t n, char ret_shown[VISIBLE_MAX], size_t *ret_n_shown) {
        const unsigned char *p = (const unsigned char *)text;
        uint32_t c = 0;
        size_t len = decode(p, n, &c);

        if (len == 0) {
                *ret_n_shown = (size_t)snprintf(ret_shown, VISIBLE_MAX, "\\x%02x", p[0]);
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
