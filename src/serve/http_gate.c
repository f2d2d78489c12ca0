/* SPDX-License-Identifier: MIT */
#include "serve/http_gate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define API "/api/1/"
#define FOLDERS "/s/"
#define COOKIE "silt"

static struct admitted refuse(struct admitted a, unsigned status, const char *text,
                              const char *fix) {
        a.verdict = GATE_REFUSED;
        a.status = status;
        a.text = text;
        a.fix = fix;
        return a;
}

/* ---- Host and Origin --------------------------------------------------------------------------- */

static bool is_digits(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (text[i] < '0' || text[i] > '9')
                        return false;
        return n > 0;
}

/* What no DNS answers for: 192.168.1.4, [fe80::1]. */
static bool is_number(const char *host, size_t n) {
        size_t dots = 0, from = 0;

        if (n > 2 && host[0] == '[' && host[n - 1] == ']')
                return strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2;
        for (size_t i = 0; i <= n; i++)
                if (i == n || host[i] == '.') {
                        if (!is_digits(host + from, i - from) || i - from > 3)
                                return false;
                        from = i + 1;
                        dots += i < n;
                }
        return dots == 3;
}

static bool is_word(const char *text, size_t n, const char *word) {
        return word && strlen(word) == n && strncasecmp(text, word, n) == 0;
}

static bool is_own_name(const struct gate *g, const char *host, size_t n) {
        if (is_word(host, n, "127.0.0.1") || is_word(host, n, "localhost") ||
            is_word(host, n, "[::1]") || is_word(host, n, g->address) ||
            is_word(host, n, g->host_name))
                return true;
        if (n > 2 && host[0] == '[' && host[n - 1] == ']' && is_word(host + 1, n - 2, g->address))
                return true;
        return g->is_any && is_number(host, n);
}

/* "localhost:40213" */
static bool is_own_host(const struct gate *g, const char *host) {
        const char *colon = strrchr(host, ':');
        char port[8];

        snprintf(port, sizeof(port), "%u", g->port);
        if (!colon || strchr(colon, ']'))
                return g->port == 80 && is_own_name(g, host, strlen(host));
        return strcmp(colon + 1, port) == 0 && is_own_name(g, host, (size_t)(colon - host));
}

static bool is_own_origin(const struct gate *g, const char *origin) {
        static const char scheme[] = "http://";

        return strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
               is_own_host(g, origin + sizeof(scheme) - 1);
}

/* ---- the token --------------------------------------------------------------------------------- */

void gate_add_folder(const struct gate *g, struct str *to) {
        str_addf(to, FOLDERS "%s/", g->folder.text);
}

void gate_add_cookie(const struct gate *g, struct str *to) {
        str_addf(to, COOKIE "=%s; HttpOnly; SameSite=Strict; Path=", g->token.text);
        gate_add_folder(g, to);
}

/* Behind the folder, from its last '/' on; NULL: not in it. */
static const char *path_in_folder(const struct gate *g, const char *path) {
        static const size_t n = sizeof(FOLDERS) - 1;

        if (strncmp(path, FOLDERS, n) != 0 || strlen(path) <= n + TOKEN_DIGITS ||
            path[n + TOKEN_DIGITS] != '/' || !token_is(&g->folder, path + n, TOKEN_DIGITS))
                return NULL;
        return path + n + TOKEN_DIGITS;
}

/* Any cookie of that name: another server may have set one for all paths. */
static bool has_cookie(const struct gate *g, const char *cookies) {
        static const char name[] = COOKIE "=";
        static const size_t n_name = sizeof(name) - 1;
        bool found = false;

        while (*cookies) {
                size_t n;

                cookies += strspn(cookies, " \t;");
                n = strcspn(cookies, ";");
                if (n > n_name && memcmp(cookies, name, n_name) == 0)
                        found |= token_is(&g->token, cookies + n_name, n - n_name);
                cookies += n;
        }
        return found;
}

static bool has_bearer(const struct gate *g, const char *authorization) {
        static const char scheme[] = "Bearer ";
        const char *at = authorization + sizeof(scheme) - 1;

        if (strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
                return false;
        at += strspn(at, " ");
        return token_is(&g->token, at, strlen(at));
}

/* ---- keys of the server ------------------------------------------------------------------------ */

/* One pair of a query: "name=value" or "name". */
struct pair {
        const char *name, *value;
        size_t n_name, n_value;
};

static bool next_pair(const char **at, struct pair *ret) {
        size_t n, n_name;

        *at += strspn(*at, "&");
        n = strcspn(*at, "&");
        if (n == 0)
                return false;
        n_name = strcspn(*at, "=&");
        *ret = (struct pair){.name = *at, .n_name = n_name};
        if (n_name < n) {
                ret->value = *at + n_name + 1;
                ret->n_value = n - n_name - 1;
        } else {
                ret->value = "";
        }
        *at += n;
        return true;
}

static bool is_named(const struct pair *p, const char *name) {
        return p->n_name == strlen(name) && memcmp(p->name, name, p->n_name) == 0;
}

static bool is_own_key(const struct pair *p) {
        return is_named(p, "id") || is_named(p, "since") || is_named(p, "wait") ||
               is_named(p, "token") || is_named(p, "key");
}

static bool take_number(const struct pair *p, uint64_t *ret) {
        uint64_t v = 0;

        if (!is_digits(p->value, p->n_value) || p->n_value > 18)
                return false;
        for (size_t i = 0; i < p->n_value; i++)
                v = v * 10 + (uint64_t)(p->value[i] - '0');
        *ret = v;
        return true;
}

static bool take_id(const struct pair *p, char ret[GATE_MAX_ID + 1]) {
        static const char letters[] =
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

        if (p->n_value == 0 || p->n_value > GATE_MAX_ID)
                return false;
        for (size_t i = 0; i < p->n_value; i++)
                if (!memchr(letters, p->value[i], sizeof(letters) - 1))
                        return false;
        memcpy(ret, p->value, p->n_value);
        ret[p->n_value] = '\0';
        return true;
}

static struct admitted take_own_keys(struct admitted a) {
        const char *at = a.query;
        struct pair p;

        while (next_pair(&at, &p)) {
                if (is_named(&p, "id") && !take_id(&p, a.id))
                        return refuse(a, 400, "'id' is not 1 to 64 letters and digits",
                                      "leave it out");
                if (is_named(&p, "since") && !(a.has_since = take_number(&p, &a.since)))
                        return refuse(a, 400, "'since' is not a version",
                                      "use the version of an answer");
                if (is_named(&p, "wait") &&
                    (!take_number(&p, &a.wait_s) || a.wait_s > GATE_MAX_WAIT_S))
                        return refuse(a, 400, "'wait' is not a number of seconds up to 30",
                                      "write wait=10");
        }
        return a;
}

void gate_add_keys(const char *query, struct str *to) {
        const char *at = query;
        struct pair p;

        while (next_pair(&at, &p)) {
                if (is_own_key(&p))
                        continue;
                if (to->n)
                        str_add(to, "&");
                str_addn(to, p.name, (size_t)(at - p.name));
        }
}

static bool has_token(const struct token *t, const char *name, const char *query) {
        bool found = false;
        struct pair p;

        while (next_pair(&query, &p))
                if (is_named(&p, name))
                        found |= token_is(t, p.value, p.n_value);
        return found;
}

/* ---- what is asked ----------------------------------------------------------------------------- */

/* Letters, with a dash between them, so that there is nothing to decode, and no way to another folder. */
static bool take_answer(const char *name, size_t n, char ret[GATE_MAX_ANSWER + 1]) {
        if (n == 0 || n > GATE_MAX_ANSWER)
                return false;
        for (size_t i = 0; i < n; i++)
                if ((name[i] < 'a' || name[i] > 'z') && (name[i] != '-' || i == 0 || i + 1 == n))
                        return false;
        memcpy(ret, name, n);
        ret[n] = '\0';
        return true;
}

static struct admitted admit_path(struct admitted a) {
        static const size_t n_api = sizeof(API) - 1;

        if (!a.is_question) {
                a.verdict = GATE_ASSET;
                return a;
        }
        if (a.n_path < n_api || memcmp(a.path, API, n_api) != 0)
                return refuse(a, 404, "this silt has version 1 of the API", "ask /api/1/");
        if (!take_answer(a.path + n_api, a.n_path - n_api, a.answer))
                return refuse(a, 404, "no such answer", "docs/http-api.md lists the answers");
        a.verdict = GATE_QUESTION;
        return take_own_keys(a);
}

struct admitted gate_admit(const struct gate *g, const struct http_head *head) {
        const char *url = head->url ? head->url : "", *inside = path_in_folder(g, url);
        struct admitted a = {.path = inside ? inside : url, .query = ""};
        bool is_page, is_welcome;

        a.n_path = strcspn(a.path, "?#");
        if (a.path[a.n_path] == '?')
                a.query = a.path + a.n_path + 1;
        a.is_question = a.n_path >= 5 && memcmp(a.path, "/api/", 5) == 0;
        if (!head->method ||
            (strcmp(head->method, "GET") != 0 && strcmp(head->method, "HEAD") != 0))
                return refuse(a, 405, "only GET and HEAD are answered", "use GET");
        if (head->has_body)
                return refuse(a, 413, "a request has no body here",
                              "put the keys into the address");
        if (strlen(url) > GATE_MAX_URL_BYTES)
                return refuse(a, 414, "the address is longer than 64 KiB", "use fewer conditions");
        if (a.path[0] != '/')
                return refuse(a, 400, "the address is not a path", NULL);
        if (head->n_hosts != 1 || !head->host || !is_own_host(g, head->host))
                return refuse(a, 403, "Host is not this server's",
                              "use the address that silt printed");
        if (head->origin && !is_own_origin(g, head->origin))
                return refuse(a, 403, "Origin is another page's",
                              "use the address that silt printed");
        if (head->fetch_site && strcmp(head->fetch_site, "same-origin") != 0 &&
            strcmp(head->fetch_site, "none") != 0)
                return refuse(a, 403, "another site links here",
                              "copy the address that silt printed into the address bar");
        is_page = a.n_path == 1 && !inside;
        is_welcome = is_page && has_token(&g->token, "token", a.query);
        if (is_page && !is_welcome)
                is_welcome = a.is_by_key = has_token(&g->key, "key", a.query);
        a.is_known =
                is_welcome ||
                (inside && head->n_cookies <= 1 && head->cookie && has_cookie(g, head->cookie)) ||
                (head->n_authorizations == 1 && head->authorization &&
                 has_bearer(g, head->authorization));
        if (!a.is_known)
                return refuse(a, 401, "no token, or a wrong one",
                              "use the address that silt printed");
        if (is_welcome) {
                a.verdict = GATE_WELCOME;
                return a;
        }
        return admit_path(a);
}
