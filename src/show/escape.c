/* SPDX-License-Identifier: MIT */
#include "show/escape.h"

#include <stdbool.h>
#include <stdint.h>

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
        while (*text) {
                uint32_t code = 0;
                size_t n = str_utf8_decode(text, 4, &code);
                const char *form = n ? xml_form(code) : NULL;

                if (form)
                        str_add(to, form);
                else if (n && is_harmless(code))
                        str_addn(to, text, n);
                else
                        str_add(to, "\xef\xbf\xbd");
                text += n ? n : 1;
        }
}
