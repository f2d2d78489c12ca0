/* SPDX-License-Identifier: MIT */
/* Heads of requests that hold anything: nobody gets in without the token, with a foreign Host or Origin, or to a path that is none. The
 * input is lines: method, address, Host, Origin, Sec-Fetch-Site, Cookie, Authorization; '@' stands for the token, '#' for the key, '$' for
 * the folder, an empty line for a header that was not sent.
 *
 * covers: src/serve/http_gate.c */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "serve/http_gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_LINES = 7 };

static const struct gate gate = {.token = {"0123456789abcdef0123456789abcdef"},
                                 .key = {"fedcba9876543210fedcba9876543210"},
                                 .folder = {"00112233445566778899aabbccddeeff"},
                                 .port = 4000,
                                 .address = "127.0.0.1"};
static const struct gate everywhere = {.token = {"0123456789abcdef0123456789abcdef"},
                                       .key = {"fedcba9876543210fedcba9876543210"},
                                       .folder = {"00112233445566778899aabbccddeeff"},
                                       .port = 80,
                                       .address = "0.0.0.0",
                                       .host_name = "box",
                                       .is_any = true};

static void require(int holds) {
        if (!holds)
                abort();
}

/* What the input can only have by '@' or '#'. */
static int has_secret(const struct gate *g, const char *text) {
        return text && (strstr(text, g->token.text) || strstr(text, g->key.text));
}

static void check_question(const struct admitted *a) {
        struct str keys = {0}, again = {0};
        size_t n = strlen(a->answer);

        require(n && strspn(a->answer, "abcdefghijklmnopqrstuvwxyz-") == n);
        require(a->answer[0] != '-' && a->answer[n - 1] != '-'); /* between letters alone */
        require(strlen(a->id) <= GATE_MAX_ID && a->wait_s <= GATE_MAX_WAIT_S);
        gate_add_keys(a->query, &keys);
        require(keys.n <= strlen(a->query));
        gate_add_keys(str_text(&keys), &again); /* nothing more is taken out the second time */
        require(strcmp(str_text(&keys), str_text(&again)) == 0);
        str_done(&keys);
        str_done(&again);
}

static void check(const struct gate *g, const struct http_head *h) {
        struct admitted a = gate_admit(g, h);

        if (a.verdict == GATE_REFUSED) {
                require(a.status >= 400 && a.status < 500 && a.text && a.text[0]);
                return;
        }
        require(a.is_known && !h->has_body && h->n_hosts == 1);
        require(has_secret(g, h->url) || has_secret(g, h->authorization) ||
                (has_secret(g, h->cookie) && strncmp(h->url, "/s/", 3) == 0 &&
                 strncmp(h->url + 3, g->folder.text, TOKEN_DIGITS) == 0));
        require(strcmp(h->method, "GET") == 0 || strcmp(h->method, "HEAD") == 0);
        require(!h->fetch_site || !strchr(h->fetch_site, 'c')); /* cross-site */
        require(!strstr(h->host, "evil") && (!h->origin || !strstr(h->origin, "evil")));
        if (g == &gate)
                require(strlen(h->host) >= 5 &&
                        strcmp(h->host + strlen(h->host) - 5, ":4000") == 0);
        require(a.path[0] == '/');
        require(a.verdict != GATE_WELCOME || (a.n_path == 1 && a.path == h->url));
        if (a.verdict == GATE_QUESTION)
                check_question(&a);
}

static void add_line(struct str *to, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (bytes[i] == '@')
                        str_add(to, gate.token.text);
                else if (bytes[i] == '#')
                        str_add(to, gate.key.text);
                else if (bytes[i] == '$')
                        str_add(to, gate.folder.text);
                else if (bytes[i])
                        str_addn(to, bytes + i, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct str lines[N_LINES] = {0};
        const char *at = (const char *)data, *end = at + size;
        struct http_head h;

        for (size_t i = 0; i < N_LINES && at < end; i++) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));
                size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);

                add_line(&lines[i], at, n);
                at += n + (newline != NULL);
        }
        h = (struct http_head){.method = str_text(&lines[0]),
                               .url = str_text(&lines[1]),
                               .host = lines[2].n ? lines[2].bytes : NULL,
                               .n_hosts = lines[2].n > 0,
                               .origin = lines[3].n ? lines[3].bytes : NULL,
                               .fetch_site = lines[4].n ? lines[4].bytes : NULL,
                               .cookie = lines[5].n ? lines[5].bytes : NULL,
                               .n_cookies = lines[5].n > 0,
                               .authorization = lines[6].n ? lines[6].bytes : NULL,
                               .n_authorizations = lines[6].n > 0};
        h.has_body = at < end; /* what is left over */
        check(&gate, &h);
        check(&everywhere, &h);
        for (size_t i = 0; i < N_LINES; i++)
                str_done(&lines[i]);
        return 0;
}
