/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"

void json_init(struct json *j, FILE *out) {
        memset(j, 0, sizeof(*j));
        j->out = out;
}

/* Nobody takes any more of it: what is left need not be formatted. */
static bool json_is_stopped(const struct json *j) {
        return ferror_unlocked(j->out);
}

/* Before any value: the comma, unless it is the first or follows its key. */
static void json_before(struct json *j) {
        if (j->after_key) {
                j->after_key = false;
                return;
        }
        if (j->depth && j->has_item[j->depth])
                fputc(',', j->out);
        j->has_item[j->depth] = true;
}

static void json_open(struct json *j, char c) {
        json_before(j);
        fputc(c, j->out);
        if (j->depth + 1 < ARRAY_SIZE(j->open))
                j->depth++;
        j->open[j->depth] = c;
        j->has_item[j->depth] = false;
}

void json_object(struct json *j) {
        json_open(j, '{');
}

void json_array(struct json *j) {
        json_open(j, '[');
}

void json_end(struct json *j) {
        fputc(j->open[j->depth] == '{' ? '}' : ']', j->out);
        if (j->depth)
                j->depth--;
        if (!j->depth)
                fputc('\n', j->out);
}

/* Bytes from s on that stand in JSON as they are, one by one. */
static size_t json_n_plain(const unsigned char *s, const unsigned char *end) {
        const unsigned char *p = s;

        while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
                p++;
        return (size_t)(p - s);
}

static void json_quoted(struct json *j, const char *text, size_t n_bytes) {
        const unsigned char *s = (const unsigned char *)text, *end = s + n_bytes;
        uint32_t code;

        if (json_is_stopped(j))
                return;
        fputc('"', j->out);
        while (s < end) {
                size_t n = json_n_plain(s, end);

                if (n) {
                        fwrite(s, 1, n, j->out);
                        s += n;
                        continue;
                }
                n = str_utf8_decode((const char *)s, (size_t)(end - s), &code);

                if (*s == '"' || *s == '\\')
                        fprintf(j->out, "\\%c", *s);
                else if (*s == '\n')
                        fputs("\\n", j->out);
                else if (*s < 0x20 || *s == 0x7f)
                        fprintf(j->out, "\\u%04x", *s);
                else if (!n)
                        fputs("\\ufffd", j->out);
                else
                        fwrite(s, 1, n, j->out);
                s += n ? n : 1;
        }
        fputc('"', j->out);
}

void json_key(struct json *j, const char *key) {
        json_before(j);
        json_quoted(j, key, strlen(key));
        fputc(':', j->out);
        j->after_key = true;
}

void json_string(struct json *j, const char *text) {
        json_stringn(j, text, strlen(text));
}

void json_stringn(struct json *j, const char *text, size_t n_bytes) {
        json_before(j);
        json_quoted(j, text, n_bytes);
}

void json_number(struct json *j, const char *text) {
        json_before(j);
        if (!json_is_stopped(j))
                fputs(text, j->out);
}

void json_values(struct json *j, const char *text) {
        if (!*text)
                return;
        json_before(j);
        fputs(text, j->out);
}

void json_uint(struct json *j, uint64_t v) {
        json_before(j);
        if (json_is_stopped(j))
                return;
        fprintf(j->out, "%llu", (unsigned long long)v);
}

void json_int(struct json *j, int64_t v) {
        json_before(j);
        if (json_is_stopped(j))
                return;
        fprintf(j->out, "%lld", (long long)v);
}

void json_double(struct json *j, double v, int decimals) {
        json_before(j);
        if (json_is_stopped(j))
                return;
        if (isfinite(v))
                fprintf(j->out, "%.*f", decimals, v);
        else
                fputs("null", j->out);
}

/* As short as it can be and read back as the same. */
void json_real(struct json *j, double v) {
        char text[40];

        json_before(j);
        if (json_is_stopped(j))
                return;
        if (!isfinite(v)) {
                fputs("null", j->out);
                return;
        }
        for (int digits = 15; digits <= 17; digits++) {
                snprintf(text, sizeof(text), "%.*g", digits, v);
                if (strtod(text, NULL) == v)
                        break;
        }
        fputs(text, j->out);
}

void json_bool(struct json *j, bool v) {
        json_before(j);
        fputs(v ? "true" : "false", j->out);
}

void json_null(struct json *j) {
        json_before(j);
        fputs("null", j->out);
}

void json_put_string(struct json *j, const char *key, const char *text) {
        json_key(j, key);
        json_string(j, text);
}

void json_put_text(struct json *j, const char *key, const char *text) {
        json_key(j, key);
        if (text && text[0])
                json_string(j, text);
        else
                json_null(j);
}

void json_put_uint(struct json *j, const char *key, uint64_t v) {
        json_key(j, key);
        json_uint(j, v);
}

void json_put_double(struct json *j, const char *key, double v, int decimals) {
        json_key(j, key);
        json_double(j, v, decimals);
}

void json_put_null(struct json *j, const char *key) {
        json_key(j, key);
        json_null(j);
}

void json_put_known(struct json *j, const char *key, uint64_t v, bool is_known) {
        if (is_known)
                json_put_uint(j, key, v);
        else
                json_put_null(j, key);
}

void json_put_known_double(struct json *j, const char *key, double v, int decimals, bool is_known) {
        if (is_known)
                json_put_double(j, key, v, decimals);
        else
                json_put_null(j, key);
}
