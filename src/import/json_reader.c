/* SPDX-License-Identifier: MIT */
#include "import/json_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void json_reader_init(struct json_reader *j, const void *bytes, size_t n) {
        *j = (struct json_reader){.begin = bytes, .pos = bytes, .end = (const char *)bytes + n};
}

void json_reader_done(struct json_reader *j) {
        str_done(&j->key);
        str_done(&j->text);
}

static void fail(struct json_reader *j, const char *why) {
        if (!j->wrong)
                j->wrong = why;
}

static char peek(struct json_reader *j) {
        while (j->pos < j->end && strchr(" \t\r\n", *j->pos) && *j->pos)
                j->pos++;
        return j->pos < j->end && !j->wrong ? *j->pos : '\0';
}

/* What comes: '{', '[', '"', '0' a number, 't', 'f', 'n'; 0: the end, or nothing that can. */
static char kind_of_next(struct json_reader *j) {
        char c = peek(j);

        return c == '-' || (c >= '0' && c <= '9') ? '0' : c && strchr("{[\"tfn", c) ? c : '\0';
}

bool json_reader_open(struct json_reader *j, char bracket) {
        if (peek(j) != bracket) {
                fail(j, bracket == '{' ? "an object is missing" : "an array is missing");
                return false;
        }
        if (j->depth == JSON_READER_MAX_DEPTH) {
                fail(j, "it is nested too deeply");
                return false;
        }
        j->pos++;
        j->is_fresh[j->depth] = true;
        j->open[j->depth++] = bracket;
        return true;
}

bool json_reader_next(struct json_reader *j) {
        char c = peek(j), open;

        if (j->wrong || j->depth == 0)
                return false;
        open = j->open[j->depth - 1];
        if (c == (open == '{' ? '}' : ']')) {
                j->pos++;
                j->depth--;
                return false;
        }
        if (!j->is_fresh[j->depth - 1]) {
                if (c != ',') {
                        fail(j, "a comma is missing");
                        return false;
                }
                j->pos++;
        }
        j->is_fresh[j->depth - 1] = false;
        if (open == '{') {
                const char *key = json_reader_string(j);

                str_clear(&j->key);
                str_add(&j->key, key);
                if (peek(j) != ':') {
                        fail(j, "a colon is missing");
                        return false;
                }
                j->pos++;
        }
        if (!kind_of_next(j))
                fail(j, "a value is missing");
        return !j->wrong;
}

bool json_reader_key_is(const struct json_reader *j, const char *key) {
        size_t n = strlen(key);

        return j->key.n == n && (n == 0 || memcmp(j->key.bytes, key, n) == 0);
}

/* ---- values ------------------------------------------------------------------------------------ */

/* A copy that ends: the bytes may not. */
static size_t take_number(struct json_reader *j, char *ret, size_t cap) {
        size_t n = 0;

        if (kind_of_next(j) != '0') {
                fail(j, "a number is missing");
                return 0;
        }
        while (j->pos < j->end && strchr("+-.eE0123456789", *j->pos) && *j->pos) {
                if (n + 1 < cap)
                        ret[n++] = *j->pos;
                j->pos++;
        }
        ret[n] = '\0';
        return n;
}

uint64_t json_reader_uint(struct json_reader *j) {
        char text[64], *end;
        uint64_t v;

        if (!take_number(j, text, sizeof(text)))
                return 0;
        errno = 0;
        v = strtoull(text, &end, 10);
        if (*end || text[0] == '-' || errno) {
                fail(j, "a number is not a whole one, or too large");
                return 0;
        }
        return v;
}

static void skip_number(struct json_reader *j) {
        char text[64], *end;

        if (!take_number(j, text, sizeof(text)))
                return;
        (void)strtod(text, &end);
        if (*end)
                fail(j, "a number is malformed");
}

static bool take_word(struct json_reader *j, const char *word) {
        size_t n = strlen(word);

        if ((size_t)(j->end - j->pos) < n || memcmp(j->pos, word, n) != 0) {
                fail(j, "a word is neither true, false nor null");
                return false;
        }
        j->pos += n;
        return true;
}

bool json_reader_bool(struct json_reader *j) {
        char c = peek(j);

        if (c != 't' && c != 'f') {
                fail(j, "true or false is missing");
                return false;
        }
        return take_word(j, c == 't' ? "true" : "false") && c == 't';
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_utf8(struct str *to, uint32_t code) {
        char c[4];

        if (code < 0x80) {
                c[0] = (char)code;
                str_addn(to, c, 1);
        } else if (code < 0x800) {
                c[0] = (char)(0xc0 | code >> 6), c[1] = (char)(0x80 | (code & 63));
                str_addn(to, c, 2);
        } else if (code < 0x10000) {
                c[0] = (char)(0xe0 | code >> 12), c[1] = (char)(0x80 | (code >> 6 & 63));
                c[2] = (char)(0x80 | (code & 63));
                str_addn(to, c, 3);
        } else {
                c[0] = (char)(0xf0 | code >> 18), c[1] = (char)(0x80 | (code >> 12 & 63));
                c[2] = (char)(0x80 | (code >> 6 & 63)), c[3] = (char)(0x80 | (code & 63));
                str_addn(to, c, 4);
        }
}

/* Four digits behind \u; half a pair becomes U+FFFD. */
static bool take_code(struct json_reader *j, uint32_t *ret) {
        uint32_t code = 0;

        if (j->end - j->pos < 4)
                return false;
        for (int i = 0; i < 4; i++) {
                int digit = hex_digit(j->pos[i]);

                if (digit < 0)
                        return false;
                code = code << 4 | (uint32_t)digit;
        }
        j->pos += 4;
        *ret = code;
        return true;
}

static bool take_escape(struct json_reader *j) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        char c = j->pos < j->end ? *j->pos++ : '\0';
        const char *at = c ? strchr(from, c) : NULL;
        uint32_t code, low;

        if (at) {
                str_addn(&j->text, &to[at - from], 1);
                return true;
        }
        if (c != 'u' || !take_code(j, &code))
                return false;
        if (code >= 0xd800 && code < 0xdc00 && j->end - j->pos >= 6 && j->pos[0] == '\\' &&
            j->pos[1] == 'u') {
                const char *back = j->pos;

                j->pos += 2;
                if (take_code(j, &low) && low >= 0xdc00 && low < 0xe000)
                        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                else
                        j->pos = back;
        }
        add_utf8(&j->text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
        return true;
}

const char *json_reader_string(struct json_reader *j) {
        str_clear(&j->text);
        if (peek(j) != '"') {
                fail(j, "a string is missing");
                return "";
        }
        j->pos++;
        while (j->pos < j->end && *j->pos != '"') {
                const char *run = j->pos;

                while (j->pos < j->end && *j->pos != '"' && *j->pos != '\\')
                        j->pos++;
                str_addn(&j->text, run, (size_t)(j->pos - run));
                if (j->pos < j->end && *j->pos == '\\') {
                        j->pos++;
                        if (!take_escape(j)) {
                                fail(j, "an escape in a string is malformed");
                                return "";
                        }
                }
        }
        if (j->pos == j->end) {
                fail(j, "a string does not end");
                return "";
        }
        j->pos++;
        return str_text(&j->text);
}

void json_reader_skip(struct json_reader *j) {
        unsigned depth = j->depth;

        do {
                switch (kind_of_next(j)) {
                case '{': json_reader_open(j, '{'); break;
                case '[': json_reader_open(j, '['); break;
                case '"': json_reader_string(j); break;
                case '0': skip_number(j); break;
                case 'n': take_word(j, "null"); break;
                default: json_reader_bool(j);
                }
                while (j->depth > depth && !json_reader_next(j) && !j->wrong)
                        ;
        } while (j->depth > depth && !j->wrong);
}
