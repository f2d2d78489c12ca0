/* SPDX-License-Identifier: MIT */
/* Writes JSON into a FILE. Commas and nesting are kept here; the caller says what comes.
 *   json_object(j); json_key(j, "pid"); json_uint(j, 1); json_end(j); */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
        FILE *out;
        unsigned depth;
        char open[64]; /* '{' or '[' per level */
        bool has_item[64];
        bool after_key;
};

void json_init(struct json *j, FILE *out);
void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j); /* closes the innermost object or array */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *text); /* bytes that are no UTF-8 become U+FFFD */
void json_stringn(struct json *j, const char *text, size_t n_bytes); /* with whatever NULs it has */
void json_number(struct json *j, const char *text); /* that is one, as JSON writes it */
void json_values(struct json *j, const char *text); /* that are some, with commas between them */
void json_uint(struct json *j, uint64_t v);
void json_int(struct json *j, int64_t v);
void json_double(struct json *j, double v, int decimals); /* not finite: null */
void json_real(struct json *j, double v); /* with all its digits; not finite: null */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);

/* key and value in one call */
void json_put_string(struct json *j, const char *key, const char *text);
void json_put_text(struct json *j, const char *key, const char *text); /* NULL or "": null */
void json_put_uint(struct json *j, const char *key, uint64_t v);
void json_put_double(struct json *j, const char *key, double v, int decimals);
void json_put_null(struct json *j, const char *key);
/* what is unknown: null */
void json_put_known(struct json *j, const char *key, uint64_t v, bool is_known);
void json_put_known_double(struct json *j, const char *key, double v, int decimals, bool is_known);

/* A key and an array of n values, each put(j, value), in which i counts: JSON_PUT_EACH(j, "bytes", n, json_uint, rows[i].bytes) */
#define JSON_PUT_EACH(j, key, n, put, value)                                                       \
        do {                                                                                       \
                json_key(j, key);                                                                  \
                json_array(j);                                                                     \
                for (size_t i = 0; i < (n); i++)                                                   \
                        put(j, value);                                                             \
                json_end(j);                                                                       \
        } while (0)
