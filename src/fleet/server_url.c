/* SPDX-License-Identifier: MIT */
#include "fleet/server_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const struct scheme {
        const char *prefix;
        enum server_kind kind;
        const char *http;
        const char *port; /* NULL: that of the scheme */
        const char *path; /* where none is given */
} schemes[] = {
        {"clickhouse://", SERVER_CLICKHOUSE, "http://", "8123", "/"},
        {"clickhouses://", SERVER_CLICKHOUSE, "https://", "8443", "/"},
        {"http://", SERVER_CLICKHOUSE, "http://", "8123", "/"},
        {"https://", SERVER_CLICKHOUSE, "https://", NULL, "/"},
        {"pyroscope+http://", SERVER_PYROSCOPE, "http://", "4040", "/ingest"},
        {"pyroscope+https://", SERVER_PYROSCOPE, "https://", NULL, "/ingest"},
        {"otlp+http://", SERVER_OTLP, "http://", "4318", "/v1development/profiles"},
        {"otlp+https://", SERVER_OTLP, "https://", NULL, "/v1development/profiles"},
};

static int refuse(struct err *reterr, const char *why) {
        return err_set(
                reterr, -EINVAL,
                "%s: write clickhouse://HOST/DATABASE, http://HOST:8123/?database=NAME, pyroscope+http://HOST:4040 or otlp+http://HOST:4318",
                why);
}

static bool put(char *ret, size_t cap, const char *text, size_t n) {
        if (n >= cap)
                return false;
        memcpy(ret, text, n);
        ret[n] = '\0';
        return true;
}

/* %41 becomes A; false: it is no such text, or too long. */
static bool put_decoded(char *ret, size_t cap, const char *text, size_t n) {
        size_t k = 0;

        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];

                if (c == '%') {
                        char hex[3] = {0};

                        if (n - i < 3 || !isxdigit((unsigned char)text[i + 1]) ||
                            !isxdigit((unsigned char)text[i + 2]))
                                return false;
                        memcpy(hex, text + i + 1, 2);
                        c = (unsigned char)strtoul(hex, NULL, 16);
                        i += 2;
                }
                if (c < ' ' || k + 1 >= cap)
                        return false;
                ret[k++] = (char)c;
        }
        ret[k] = '\0';
        return true;
}

/* "user:password@", taken off the host. */
static bool take_user(const char **host, size_t *n_host, struct server_url *ret) {
        const char *at = memrchr(*host, '@', *n_host), *colon;
        size_t n;

        if (!at)
                return true;
        n = (size_t)(at - *host);
        colon = memchr(*host, ':', n);
        if (!put_decoded(ret->user, sizeof(ret->user), *host,
                         colon ? (size_t)(colon - *host) : n) ||
            (colon && !put_decoded(ret->password, sizeof(ret->password), colon + 1,
                                   (size_t)(at - colon - 1))))
                return false;
        *n_host -= n + 1;
        *host = at + 1;
        return true;
}

static bool is_host_char(char c) {
        return isalnum((unsigned char)c) || strchr(".-_:[]%", c);
}

static bool is_host(const char *host, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!host[i] || !is_host_char(host[i]))
                        return false;
        return n > 0 && host[0] != ':';
}

/* Behind the last "]" of an address, if there is one. */
static bool has_port(const char *host, size_t n) {
        const char *bracket = memrchr(host, ']', n);
        const char *from = bracket ? bracket : host;

        return memchr(from, ':', n - (size_t)(from - host)) != NULL;
}

/* Of a host that has_port. */
static bool is_port_good(const char *host, size_t n) {
        size_t n_digits = 0;
        unsigned long port = 0;

        for (const char *at = host + n; at > host && at[-1] != ':'; at--, n_digits++)
                if (!isdigit((unsigned char)at[-1]))
                        return false;
        if (n_digits && n_digits <= 5)
                port = strtoul(host + n - n_digits, NULL, 10);
        return port >= 1 && port <= 65535;
}

/* "database" is taken out of them. */
static bool take_parameters(const char *query, struct server_url *ret) {
        size_t k = 0;

        while (*query) {
                size_t n = strcspn(query, "&#");

                if (strncmp(query, "database=", 9) == 0) {
                        if (!put_decoded(ret->database, sizeof(ret->database), query + 9, n - 9))
                                return false;
                } else if (n) {
                        if (k + n + 2 > sizeof(ret->settings))
                                return false;
                        if (k)
                                ret->settings[k++] = '&';
                        memcpy(ret->settings + k, query, n);
                        k += n;
                        ret->settings[k] = '\0';
                }
                if (query[n] != '&')
                        break;
                query += n + 1;
        }
        return true;
}

static bool is_plain(const char *text) {
        for (; *text; text++)
                if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 127)
                        return false;
        return true;
}

/* clickhouse://host/database; else the path is one of HTTP's. */
static bool take_path(const struct scheme *s, const char *path, size_t n, bool is_native,
                      struct server_url *ret, char *to, size_t cap) {
        while (is_native && n && path[n - 1] == '/')
                n--;
        if (is_native && n > 1)
                return !memchr(path + 1, '/', n - 1) &&
                       put_decoded(ret->database, sizeof(ret->database), path + 1, n - 1) &&
                       put(to, cap, "/", 1);
        return n <= 1 ? put(to, cap, s->path, strlen(s->path)) : put(to, cap, path, n);
}

static void take_environment(struct server_url *ret) {
        const char *user = getenv("SILT_FLEET_USER"), *password = getenv("SILT_FLEET_PASSWORD");

        if (!ret->user[0] && user && strlen(user) < sizeof(ret->user))
                memcpy(ret->user, user, strlen(user) + 1);
        if (!ret->password[0] && password && strlen(password) < sizeof(ret->password))
                memcpy(ret->password, password, strlen(password) + 1);
        if (ret->password[0] && !ret->user[0])
                memcpy(ret->user, "default", 8);
}

static int parse(const struct scheme *s, const char *text, struct server_url *ret,
                 struct err *reterr) {
        const char *host = text + strlen(s->prefix);
        size_t n_host = strcspn(host, "/?#"), n_path;
        const char *path = host + n_host;
        char http_path[256];
        bool is_native = strncmp(s->prefix, "clickhouse", 10) == 0;

        n_path = strcspn(path, "?#");
        ret->kind = s->kind;
        /* else a part of a password would be taken for a path, and shown */
        if (memchr(path, '@', n_path))
                return refuse(reterr, "an @ behind a / (in a password write / as %2F)");
        if (!take_user(&host, &n_host, ret) || !is_host(host, n_host))
                return refuse(reterr, "the host is missing or not one");
        if (has_port(host, n_host) && !is_port_good(host, n_host))
                return refuse(reterr, "the port is not a number from 1 to 65535");
        if (!take_path(s, path, n_path, is_native, ret, http_path, sizeof(http_path)) ||
            (path[n_path] == '?' && !take_parameters(path + n_path + 1, ret)))
                return refuse(reterr, "what follows the host is not understood");
        if (!ret->database[0])
                memcpy(ret->database, "silt", 5);
        if ((size_t)snprintf(ret->address, sizeof(ret->address), "%s%.*s%s%s%s", s->http,
                             (int)n_host, host, s->port && !has_port(host, n_host) ? ":" : "",
                             s->port && !has_port(host, n_host) ? s->port : "",
                             http_path) >= sizeof(ret->address))
                return refuse(reterr, "the address is too long");
        snprintf(ret->shown, sizeof(ret->shown), "%s", ret->address);
        take_environment(ret);
        return 0;
}

int server_url_parse(const char *text, struct server_url *ret, struct err *reterr) {
        struct server_url url = {0};
        int r;

        if (!is_plain(text))
                return refuse(reterr,
                              "an address has neither spaces nor other than ASCII characters");
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
                        r = parse(&schemes[i], text, &url, reterr);
                        if (r >= 0)
                                *ret = url;
                        return r;
                }
        return refuse(reterr, "the address does not begin with a known scheme");
}
