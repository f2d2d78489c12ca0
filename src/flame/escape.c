/* SPDX-License-Identifier: MIT */
#include "flame/escape.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the character at p, 0 when it is no UTF-8. */
static size_t character(const unsigned char *p, uint32_t *ret_code) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t n = p[0] < 0x80   ? 1
                   : p[0] < 0xc2 ? 0
                   : p[0] < 0xe0 ? 2
                   : p[0] < 0xf0 ? 3
                   : p[0] < 0xf5 ? 4
                                 : 0;
        uint32_t code = n > 1 ? p[0] & (0x7fu >> n) : p[0];

        for (size_t i = 1; i < n; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
                code = code << 6 | (p[i] & 0x3f);
        }
        if (n > 1 && (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
                return 0;
        *ret_code = code;
        return n;
}

/* Allowed in XML, no control character, and nothing that turns the direction of the text around it. */
static bool is_harmless(uint32_t c) {
        if (c < 0x20 || (c >= 0x7f && c < 0xa0))
                return c == '\n';
        return !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0x2028 &&
               c != 0x2029 && (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef);
}

static const char *xml_form(uint32_t c) {
        switch (c) {
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '&': return "&amp;";
        case '"': return "&quot;";
        case '\'': return "&#39;";
        default: return NULL;
        }
}

void escape_add_xml(struct str *to, const char *text) {
        const unsigned char *p = (const unsigned char *)text;

        while (*p) {
                uint32_t code = 0;
                size_t n = character(p, &code);
                const char *form = n ? xml_form(code) : NULL;

                if (form)
                        str_add(to, form);
                else if (n && is_harmless(code))
                        str_addn(to, (const char *)p, n);
                else
                        str_add(to, "\xef\xbf\xbd");
                p += n ? n : 1;
        }
}
