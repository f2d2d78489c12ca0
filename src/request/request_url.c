/* SPDX-License-Identifier: MIT */
/* Requests as the query of a URL: pairs of key and value, percent-encoded. Whoever sends one may send anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request/request.h"
#include "request/request_pairs.h"

/* ---- reading --------------------------------------------------------------------------------- */

static int hex(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Into `to`, which has room for n + 1 bytes. */
static int decode(const char *text, size_t n, char *to, struct err *reterr) {
        size_t k = 0;

        for (size_t i = 0; i < n; i++) {
                int high, low;

                if (text[i] != '%') {
                        to[k++] = text[i];
                        if (text[i] == '+')
                                to[k - 1] = ' ';
                        else if (!text[i])
                                return err_set(reterr, -EINVAL, "a zero byte is not text");
                        continue;
                }
                high = i + 1 < n ? hex(text[i + 1]) : -1;
                low = i + 2 < n ? hex(text[i + 2]) : -1;
                if (high < 0 || low < 0)
                        return err_set(reterr, -EINVAL, "'%.*s' is not a byte: write '%%' as %%25",
                                       (int)MIN(n - i, (size_t)3), text + i);
                if (high == 0 && low == 0)
                        return err_set(reterr, -EINVAL, "a zero byte is not text");
                to[k++] = (char)(high << 4 | low);
                i += 2;
        }
        to[k] = '\0';
        return 0;
}

static bool is_local(const char *key) {
        size_t n;
        const struct request_key *keys = request_keys(&n);

        for (size_t i = 0; i < n; i++)
                if (strcmp(keys[i].name, key) == 0)
                        return keys[i].is_local;
        return false;
}

/* "from=5s", "tree". */
static int take_pair(const char *pair, size_t n, request_url_fn fn, void *ctx, struct err *reterr) {
        const char *equals = memchr(pair, '=', n);
        size_t n_key = equals ? (size_t)(equals - pair) : n;
        size_t n_value = equals ? n - n_key - 1 : 0;
        _cleanup_free_ char *key = malloc(n_key + 1), *value = malloc(n_value + 1);
        int x;

        if (!key || !value)
                abort();
        x = decode(pair, n_key, key, reterr);
        if (x >= 0)
                x = decode(pair + n - n_value, n_value, value, reterr);
        if (x < 0)
                return x;
        return fn(ctx, key, equals ? value : NULL, reterr);
}

int request_each_url_pair(const char *query, size_t n, request_url_fn fn, void *ctx,
                          struct err *reterr) {
        size_t n_pairs = 0;

        if (n > REQUEST_MAX_URL_BYTES)
                return err_set(reterr, -E2BIG, "the query is too long: use at most %d bytes",
                               REQUEST_MAX_URL_BYTES);
        if (n && query[0] == '?') {
                query++;
                n--;
        }
        for (size_t at = 0; at < n;) {
                const char *end = memchr(query + at, '&', n - at);
                size_t len = end ? (size_t)(end - query) - at : n - at;
                int x = 0;

                if (len && n_pairs++ == REQUEST_MAX_PAIRS)
                        return err_set(reterr, -E2BIG,
                                       "the query has too many keys: use at most %d",
                                       REQUEST_MAX_PAIRS);
                if (len)
                        x = take_pair(query + at, len, fn, ctx, reterr);
                if (x < 0)
                        return x;
                at += len + 1;
        }
        return 0;
}

int request_set_from_url(void *request, const char *key, const char *value, struct err *reterr) {
        if (is_local(key)) /* it would be read here, not where the question comes from */
                return err_set(reterr, -EACCES, "'%s' is not allowed in a URL", key);
        return request_set(request, key, value, reterr);
}

int request_parse_url(struct request *r, const char *query, size_t n, struct err *reterr) {
        return request_each_url_pair(query, n, request_set_from_url, r, reterr);
}

/* ---- writing --------------------------------------------------------------------------------- */

void request_add_encoded(struct str *to, const char *text) {
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~@:,/";

        for (; *text; text++)
                if (strchr(plain, *text))
                        str_addn(to, text, 1);
                else
                        str_addf(to, "%%%02X", (unsigned char)*text);
}

static void add_pair(void *ctx, const struct request_key *key, const char *value) {
        struct str *to = ctx;

        if (key->is_local)
                return;
        if (to->n && to->bytes[to->n - 1] != '?')
                str_add(to, "&");
        str_addf(to, "%s=", key->name);
        request_add_encoded(to, value ? value : "1");
}

void request_add_url(const struct request *r, struct str *to) {
        request_each_pair(r, REQUEST_ALL_PAIRS, add_pair, to);
}
