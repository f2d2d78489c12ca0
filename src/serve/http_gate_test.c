/* SPDX-License-Identifier: MIT */
/* Who gets in, and who does not: the token, Host, Origin, paths and the server's own keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "serve/http_gate.h"

static struct gate gate = {.port = 4000, .address = "127.0.0.1"};
static char bearer[64], cookie[64], in_folder[64];

static int make_token(void **state) {
        (void)state;
        assert_int_equal(token_make(&gate.token, NULL), 0);
        assert_int_equal(token_make(&gate.key, NULL), 0);
        assert_int_equal(token_make(&gate.folder, NULL), 0);
        snprintf(bearer, sizeof(bearer), "Bearer %s", gate.token.text);
        snprintf(cookie, sizeof(cookie), "a=b; silt=%s", gate.token.text);
        snprintf(in_folder, sizeof(in_folder), "/s/%s/", gate.folder.text);
        return 0;
}

/* A request that is let in. */
static struct http_head good(const char *url) {
        return (struct http_head){.method = "GET",
                                  .url = url,
                                  .host = "127.0.0.1:4000",
                                  .n_hosts = 1,
                                  .authorization = bearer,
                                  .n_authorizations = 1};
}

static void check_status(const struct http_head *h, unsigned status) {
        struct admitted a = gate_admit(&gate, h);

        if (a.verdict != GATE_REFUSED || a.status != status)
                fail_msg("%s: %u, not %u", h->url, a.verdict == GATE_REFUSED ? a.status : 200,
                         status);
        assert_non_null(a.text);
}

static void check_in(const struct http_head *h, enum gate_verdict verdict) {
        struct admitted a = gate_admit(&gate, h);

        if (a.verdict != verdict)
                fail_msg("%s: %u %s", h->url, a.status, a.text ? a.text : "");
        assert_true(a.is_known);
}

static void test_tokens(void **state) {
        struct token other;
        struct http_head h = good("/");
        char text[200];

        (void)state;
        assert_int_equal(token_make(&other, NULL), 0);
        assert_int_equal(strlen(other.text), TOKEN_DIGITS);
        assert_string_not_equal(other.text, gate.token.text);
        check_in(&h, GATE_ASSET);
        h.authorization = NULL;
        check_status(&h, 401);
        h.url = in_folder;
        check_status(&h, 401);
        h.cookie = cookie;
        h.n_cookies = 1;
        check_in(&h, GATE_ASSET);
        h.n_cookies = 2; /* which of them? */
        check_status(&h, 401);
        h = good("/");
        h.n_authorizations = 2;
        check_status(&h, 401);
        for (size_t n = 0; n <= TOKEN_DIGITS + 1; n++) { /* too short, right, too long */
                snprintf(text, sizeof(text), "Bearer %.*s%s", (int)MIN(n, (size_t)TOKEN_DIGITS),
                         gate.token.text, n > TOKEN_DIGITS ? "0" : "");
                h = good("/");
                h.authorization = text;
                if (n == TOKEN_DIGITS)
                        check_in(&h, GATE_ASSET);
                else
                        check_status(&h, 401);
        }
        for (size_t i = 0; i < TOKEN_DIGITS; i++) { /* each digit counts */
                snprintf(text, sizeof(text), "Bearer %s", gate.token.text);
                text[7 + i] = text[7 + i] == 'f' ? '0' : 'f';
                h = good("/");
                h.authorization = text;
                check_status(&h, 401);
        }
        snprintf(text, sizeof(text), "Basic %s", gate.token.text);
        h.authorization = text;
        check_status(&h, 401);
        snprintf(text, sizeof(text), "silt-4000=%s; xsilt=%s; silt=%sx; silt; silt=%s",
                 gate.token.text, gate.token.text, gate.token.text, gate.key.text);
        h = (struct http_head){.method = "GET",
                               .url = in_folder,
                               .host = "localhost:4000",
                               .n_hosts = 1,
                               .cookie = text,
                               .n_cookies = 1};
        check_status(&h, 401);
}

/* The cookie counts in its folder alone: that is where browsers send it. */
static void test_folder(void **state) {
        static const char *const outside[] = {"/",          "/page.js", "/api/1/trace",
                                              "/s/",        "/s/%s",    "/s/%s?x",
                                              "/s/%s0/",    "/s/0%s/",  "//s/%s/",
                                              "/s//%s/",    "/S/%s/",   "/x/../s/%s/",
                                              "/s/%%2e/%s/"};
        struct http_head h = good(NULL);
        struct str set = {0};
        struct admitted a;
        char text[200];

        (void)state;
        h.authorization = NULL;
        h.cookie = cookie;
        h.n_cookies = 1;
        h.url = text;
        for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
                snprintf(text, sizeof(text), outside[i], gate.folder.text);
                check_status(&h, 401);
        }
        snprintf(text, sizeof(text), "/s/%s/", gate.token.text);
        check_status(&h, 401);
        snprintf(text, sizeof(text), "%spage.js?a=b", in_folder);
        a = gate_admit(&gate, &h);
        assert_int_equal(a.verdict, GATE_ASSET);
        assert_int_equal(a.n_path, 8);
        assert_memory_equal(a.path, "/page.js", 8);
        assert_string_equal(a.query, "a=b");
        snprintf(text, sizeof(text), "%sapi/1/trace?since=1", in_folder);
        a = gate_admit(&gate, &h);
        assert_int_equal(a.verdict, GATE_QUESTION);
        assert_true(a.is_question && a.has_since);
        assert_string_equal(a.answer, "trace");
        snprintf(text, sizeof(text), "%s?token=%s", in_folder, gate.token.text);
        check_in(&h, GATE_ASSET); /* by its cookie: */
        h.cookie = NULL;
        check_status(&h, 401);
        gate_add_cookie(&gate, &set);
        snprintf(text, sizeof(text), "silt=%s; HttpOnly; SameSite=Strict; Path=%s", gate.token.text,
                 in_folder);
        assert_string_equal(str_text(&set), text);
        str_done(&set);
}

/* In the address of the page alone, and only once. */
static void test_welcome(void **state) {
        struct http_head h = good(NULL);
        char text[200];

        (void)state;
        h.authorization = NULL;
        h.url = text;
        snprintf(text, sizeof(text), "/?token=%s", gate.token.text);
        check_in(&h, GATE_WELCOME);
        snprintf(text, sizeof(text), "/?a=b&&token=%s&c", gate.token.text);
        check_in(&h, GATE_WELCOME);
        assert_false(gate_admit(&gate, &h).is_by_key);
        snprintf(text, sizeof(text), "/?key=%s", gate.key.text);
        check_in(&h, GATE_WELCOME);
        assert_true(gate_admit(&gate, &h).is_by_key);
        snprintf(text, sizeof(text), "/?token=%s", gate.key.text);
        check_status(&h, 401);
        snprintf(text, sizeof(text), "/?key=%s", gate.token.text);
        check_status(&h, 401);
        for (size_t i = 0; i < 5; i++) {
                static const char *const wrong[] = {"/?token=%s0", "/?Token=%s",
                                                    "/page.js?token=%s", "/api/1/trace?token=%s",
                                                    "/?token%%3D%s"};

                snprintf(text, sizeof(text), wrong[i], gate.token.text);
                check_status(&h, 401);
        }
}

static void test_hosts(void **state) {
        static const char *const own[] = {"127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000",
                                          "[::1]:4000"};
        static const char *const foreign[] = {"",
                                              "127.0.0.1",
                                              "127.0.0.1:4001",
                                              "127.0.0.1:04000",
                                              "127.0.0.1:4000 ",
                                              "127.0.0.1:4000.evil.example",
                                              "evil.example:4000",
                                              "localhost.evil.example:4000",
                                              "xlocalhost:4000",
                                              "localhost:4000:4000",
                                              ":4000",
                                              "[::1",
                                              "[::1]",
                                              "[::2]:4000",
                                              "192.168.0.1:4000",
                                              "127.0.0.1:4000/",
                                              "user@127.0.0.1:4000"};
        struct http_head h = good("/");

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
                h.host = own[i];
                check_in(&h, GATE_ASSET);
        }
        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
                h.host = foreign[i];
                check_status(&h, 403);
        }
        h = good("/");
        h.n_hosts = 2;
        check_status(&h, 403);
        h.n_hosts = 0;
        h.host = NULL;
        check_status(&h, 403);
}

static void test_origins(void **state) {
        static const char *const foreign[] = {
                "null",
                "",
                "https://127.0.0.1:4000",
                "http://127.0.0.1",
                "http://127.0.0.1:4001",
                "http://evil.example",
                "http://evil.example:4000",
                "http://127.0.0.1:4000/",
                "file://",
        };
        struct http_head h = good("/api/1/trace");

        (void)state;
        h.origin = "http://127.0.0.1:4000";
        check_in(&h, GATE_QUESTION);
        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
                h.origin = foreign[i];
                check_status(&h, 403);
        }
        h.origin = NULL;
        h.fetch_site = "same-origin";
        check_in(&h, GATE_QUESTION);
        h.fetch_site = "none";
        check_in(&h, GATE_QUESTION);
        h.fetch_site = "same-site"; /* another port of this machine */
        check_status(&h, 403);
        h.fetch_site = "cross-site";
        check_status(&h, 403);
        h.fetch_site = "";
        check_status(&h, 403);
}

/* All addresses: numbers, which nobody can make a name server say, and the machine's name. */
static void test_any_address(void **state) {
        struct gate saved = gate;
        struct http_head h = good("/");

        (void)state;
        gate.is_any = true;
        gate.address = "0.0.0.0";
        gate.host_name = "box";
        h.host = "192.168.0.1:4000";
        check_in(&h, GATE_ASSET);
        h.host = "[fe80::1]:4000";
        check_in(&h, GATE_ASSET);
        h.host = "box:4000";
        check_in(&h, GATE_ASSET);
        h.host = "evil.example:4000";
        check_status(&h, 403);
        h.host = "1.2.3.example:4000";
        check_status(&h, 403);
        h.host = "1.2.3:4000";
        check_status(&h, 403);
        h.host = "1.2.3.4.5:4000";
        check_status(&h, 403);
        h.host = "[evil]:4000";
        check_status(&h, 403);
        gate = saved;
}

static void test_requests(void **state) {
        static const char *const methods[] = {"POST",  "PUT", "DELETE", "OPTIONS", "CONNECT",
                                              "TRACE", "get", "GET ",   "",        "PATCH"};
        struct http_head h = good("/");
        char *url = malloc(GATE_MAX_URL_BYTES + 2);

        (void)state;
        assert_non_null(url);
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                h.method = methods[i];
                check_status(&h, 405);
        }
        h.method = "HEAD";
        check_in(&h, GATE_ASSET);
        h.has_body = true;
        check_status(&h, 413);
        memset(url, 'a', GATE_MAX_URL_BYTES + 1);
        url[0] = '/';
        url[GATE_MAX_URL_BYTES + 1] = '\0';
        h = good(url);
        check_status(&h, 414);
        url[GATE_MAX_URL_BYTES] = '\0';
        check_in(&h, GATE_ASSET); /* which is then not found */
        free(url);
        h = good("http://127.0.0.1:4000/");
        check_status(&h, 400);
        h = good("*");
        check_status(&h, 400);
        h = good("");
        check_status(&h, 400);
}

static void test_questions(void **state) {
        static const char *const none[] = {
                "/api/1/",         "/api/1/../trace",
                "/api/1/trace/",   "/api/1/%74race",
                "/api/1/Trace",    "/api/2/trace",
                "/api/1/trace%00", "/api/",
                "/api/1",          "/api/1/trace..",
                "/api/1/-trace",   "/api/1/trace-",
                "/api/1//trace",   "/api/1/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
        static const char *const wrong[] = {
                "/api/1/trace?id=",      "/api/1/trace?id=a-b",
                "/api/1/trace?id=%41",   "/api/1/trace?since=x",
                "/api/1/trace?since=-1", "/api/1/trace?since=99999999999999999999",
                "/api/1/trace?wait=31",  "/api/1/trace?wait=",
                "/api/1/trace?wait=1.5", "/api/1/trace?since=1&since="};
        struct http_head h = good("/api/1/trace?since=7&wait=10&id=aZ9&from=5s");
        struct admitted a = gate_admit(&gate, &h);
        struct str keys = {0};

        (void)state;
        assert_int_equal(a.verdict, GATE_QUESTION);
        assert_string_equal(a.answer, "trace");
        assert_string_equal(a.id, "aZ9");
        assert_true(a.has_since && a.since == 7 && a.wait_s == 10);
        gate_add_keys(a.query, &keys);
        assert_string_equal(str_text(&keys), "from=5s");
        str_clear(&keys);
        gate_add_keys("&&id=1&by=end&token=x&&size=1K..2K&flag&since", &keys);
        assert_string_equal(str_text(&keys), "by=end&size=1K..2K&flag");
        str_done(&keys);
        for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
                h = good(none[i]);
                check_status(&h, 404);
        }
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                h = good(wrong[i]);
                check_status(&h, 400);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tokens),   cmocka_unit_test(test_folder),
                cmocka_unit_test(test_welcome),  cmocka_unit_test(test_hosts),
                cmocka_unit_test(test_origins),  cmocka_unit_test(test_any_address),
                cmocka_unit_test(test_requests), cmocka_unit_test(test_questions),
        };

        return cmocka_run_group_tests(tests, make_token, NULL);
}
