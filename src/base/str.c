/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/vec.h"

static void str_reserve(struct str *s, size_t more) {
        s->bytes = vec_grow(s->bytes, &s->cap, s->n + more + 1, 1);
}

void str_addn(struct str *s, const char *text, size_t n) {
        str_reserve(s, n);
        memcpy(s->bytes + s->n, text, n);
        s->n += n;
        s->bytes[s->n] = 0;
}

void str_add(struct str *s, const char *text) {
        str_addn(s, text, strlen(text));
}

void str_addf(struct str *s, const char *fmt, ...) {
        va_list args;
        int need;

        va_start(args, fmt);
        need = vsnprintf(NULL, 0, fmt, args);
        va_end(args);
        if (need <= 0)
                return;
        str_reserve(s, (size_t)need);
        va_start(args, fmt);
        vsnprintf(s->bytes + s->n, (size_t)need + 1, fmt, args);
        va_end(args);
        s->n += (size_t)need;
}

void str_add_shell(struct str *s, const char *text) {
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";

        if (text[0] && text[0] != '-' && !text[strspn(text, plain)]) {
                str_add(s, text);
                return;
        }
        str_add(s, "'");
        for (; *text; text++)
                if (*text == '\'')
                        str_add(s, "'\\''");
                else
                        str_addn(s, text, 1);
        str_add(s, "'");
}

void str_pad(struct str *s, char c, size_t n) {
        str_reserve(s, n);
        memset(s->bytes + s->n, c, n);
        s->n += n;
        s->bytes[s->n] = 0;
}

const char *str_text(struct str *s) {
        return s->bytes ? s->bytes : "";
}

void str_clear(struct str *s) {
        s->n = 0;
        if (s->bytes)
                s->bytes[0] = 0;
}

void str_done(struct str *s) {
        free(s->bytes);
        memset(s, 0, sizeof(*s));
}

static locale_t str_utf8_locale;

static void str_open_locale(void) {
        str_utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

size_t str_utf8_decode(const char *text, size_t n_bytes, uint32_t *ret_code) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        const unsigned char *p = (const unsigned char *)text;
        size_t n = p[0] < 0x80   ? 1
                   : p[0] < 0xc2 ? 0
                   : p[0] < 0xe0 ? 2
                   : p[0] < 0xf0 ? 3
                   : p[0] < 0xf5 ? 4
                                 : 0;
        uint32_t code = n > 1 ? p[0] & (0x7fu >> n) : p[0];

        if (!n || n > n_bytes)
                return 0;
        for (size_t i = 1; i < n; i++) { /* a NUL ends it: nothing behind it is read */
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
                code = code << 6 | (p[i] & 0x3f);
        }
        if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
                return 0;
        *ret_code = code;
        return n;
}

size_t str_utf8_len(const char *text) {
        uint32_t code;

        return str_utf8_decode(text, 4, &code);
}

/* The C library knows widths in a UTF-8 locale alone; NULL: there is none. */
static locale_t str_locale(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, str_open_locale);
        return str_utf8_locale;
}

/* n bytes of well-formed UTF-8. */
static size_t str_wide_width(const char *text, size_t n) {
        uint32_t c = (unsigned char)text[0] & (0x7fu >> n);
        locale_t own = str_locale(), before;
        int cells;

        for (size_t i = 1; i < n; i++)
                c = c << 6 | ((unsigned char)text[i] & 0x3f);
        if (!own)
                return 1;
        before = uselocale(own);
        cells = wcwidth((wchar_t)c);
        uselocale(before);
        return cells < 0 ? 1 : (size_t)cells;
}

size_t str_first_width(const char *text, size_t *ret_n_bytes) {
        size_t n = str_utf8_len(text);

        *ret_n_bytes = n ? n : 1;
        if (n > 1)
                return str_wide_width(text, n);
        return ((unsigned char)text[0] & 0xc0) != 0x80;
}

size_t str_width(const char *text) {
        size_t cells = 0, n;

        for (; *text; text += n)
                cells += str_first_width(text, &n);
        return cells;
}
