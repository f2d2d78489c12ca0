/* SPDX-License-Identifier: MIT */
#include "fleet/http_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CURL_DISABLE_TYPECHECK /* its macros stand for functions that are linked */
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* ---- the library --------------------------------------------------------------------------------- */

/* X(field, function) for each function that is used. */
#define CURL_FUNCTIONS(X)                                                                          \
        X(global_init, curl_global_init)                                                           \
        X(easy_init, curl_easy_init)                                                               \
        X(easy_reset, curl_easy_reset)                                                             \
        X(easy_setopt, curl_easy_setopt)                                                           \
        X(easy_perform, curl_easy_perform)                                                         \
        X(easy_getinfo, curl_easy_getinfo)                                                         \
        X(easy_cleanup, curl_easy_cleanup)                                                         \
        X(easy_strerror, curl_easy_strerror)                                                       \
        X(slist_append, curl_slist_append)                                                         \
        X(slist_free_all, curl_slist_free_all)

static struct {
#define X(field, function) __typeof__(&function) field;
        CURL_FUNCTIONS(X)
#undef X
} curl;

/* The names that all releases since 7.16 have; Debian has one for each library of TLS. */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};

static int find(void *in, const char *name, void *ret, struct err *reterr) {
        void *function = dlsym(in, name);

        if (!function)
                return err_set(reterr, -ENOSYS, "%s lacks %s: install a newer one", libraries[0],
                               name);
        memcpy(ret, &function, sizeof(function));
        return 0;
}

static int curl_load(struct err *reterr) {
        void *in = NULL;
        int r = 0;

        if (curl.global_init)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(libraries) && !in; i++)
                in = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL); /* for good */
        if (!in)
                return err_set(reterr, -ENOENT,
                               "cannot load %s: install libcurl (docs/building.md)", libraries[0]);
#define X(field, function)                                                                         \
        if (r == 0)                                                                                \
                r = find(in, #function, &curl.field, reterr);
        CURL_FUNCTIONS(X)
#undef X
        if (r == 0 && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                r = err_set(reterr, -EIO, "libcurl cannot start");
        return r;
}

/* ---- one exchange -------------------------------------------------------------------------------- */

struct http_client {
        struct http_client_options o;
        CURL *easy;
        struct str *answer; /* of the exchange going on */
        size_t max_answer;
        bool is_too_long;
        char why[CURL_ERROR_SIZE];
};

static size_t take_answer(char *bytes, size_t one, size_t n, void *client) {
        struct http_client *c = client;

        if (c->answer->n + one * n > c->max_answer) {
                c->is_too_long = true;
                return 0;
        }
        str_addn(c->answer, bytes, one * n);
        return one * n;
}

static int look_up(void *client, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e) {
        struct http_client *c = client;

        return c->o.is_stopped && c->o.is_stopped(c->o.ctx);
}

static struct curl_slist *headers_of(const struct http_request *q) {
        struct curl_slist *list = NULL;
        char line[256];

        snprintf(line, sizeof(line), "Content-Type: %s", q->content_type);
        list = curl.slist_append(list, line);
        /* a server that is asked whether it wants the body first would have it wait a second */
        list = curl.slist_append(list, "Expect:");
        if (q->is_gzip)
                list = curl.slist_append(list, "Content-Encoding: gzip");
        if (!list)
                abort();
        return list;
}

static void set_options(struct http_client *c, const struct http_request *q,
                        struct curl_slist *headers) {
        CURL *e = c->easy;

        curl.easy_reset(e); /* keeps its connections */
        curl.easy_setopt(e, CURLOPT_URL, q->url);
#if LIBCURL_VERSION_NUM >= 0x075500
        curl.easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#endif
        curl.easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
        curl.easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
        curl.easy_setopt(e, CURLOPT_USERAGENT, "silt");
        curl.easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS);
        curl.easy_setopt(e, CURLOPT_TIMEOUT_MS,
                         (long)(q->timeout_ms ? q->timeout_ms : HTTP_TIMEOUT_MS));
        curl.easy_setopt(e, CURLOPT_ERRORBUFFER, c->why);
        curl.easy_setopt(e, CURLOPT_HTTPHEADER, headers);
        curl.easy_setopt(e, CURLOPT_POST, 1L);
        curl.easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->n_body);
        curl.easy_setopt(e, CURLOPT_POSTFIELDS, q->body);
        curl.easy_setopt(e, CURLOPT_WRITEFUNCTION, take_answer);
        curl.easy_setopt(e, CURLOPT_WRITEDATA, c);
        curl.easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
        curl.easy_setopt(e, CURLOPT_XFERINFOFUNCTION, look_up);
        curl.easy_setopt(e, CURLOPT_XFERINFODATA, c);
        if (c->o.ca_file)
                curl.easy_setopt(e, CURLOPT_CAINFO, c->o.ca_file);
        if (c->o.user) {
                curl.easy_setopt(e, CURLOPT_USERNAME, c->o.user);
                curl.easy_setopt(e, CURLOPT_PASSWORD, c->o.password ? c->o.password : "");
        }
}

static int errno_of(CURLcode code) {
        switch (code) {
        case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
        case CURLE_COULDNT_CONNECT: return -ECONNREFUSED;
        case CURLE_COULDNT_RESOLVE_HOST: return -EHOSTUNREACH;
        case CURLE_PEER_FAILED_VERIFICATION: return -EKEYREJECTED;
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_GOT_NOTHING: return -EREMOTEIO; /* no HTTP */
        case CURLE_PARTIAL_FILE:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR: return -ECONNRESET;
        default: return -EIO;
        }
}

static int say_why(struct http_client *c, const struct http_request *q, CURLcode code,
                   struct err *reterr) {
        if (code == CURLE_ABORTED_BY_CALLBACK)
                return err_set(reterr, -ECANCELED, "%s: stopped before it had answered", q->shown);
        if (c->is_too_long)
                return err_set(reterr, -EMSGSIZE, "%s answers with more than %zu bytes", q->shown,
                               c->max_answer);
        if (code == CURLE_SSL_CONNECT_ERROR) /* what the library says of it is about its insides */
                return err_set(
                        reterr, -EPROTO,
                        "%s: no TLS connection: the server may speak plain HTTP (write http:// or clickhouse://), or another version of TLS",
                        q->shown);
        if (code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM)
                return err_set(reterr, -ENOKEY, "%s: %s%s%s: give a PEM file by --ca", q->shown,
                               c->o.ca_file ? "'" : "this machine has no certificates to trust",
                               c->o.ca_file ? c->o.ca_file : "",
                               c->o.ca_file ? "' has no certificates to trust" : "");
        return err_set(reterr, errno_of(code), "%s: %s", q->shown,
                       c->why[0] ? c->why : curl.easy_strerror(code));
}

int http_client_post(struct http_client *c, const struct http_request *q, struct str *answer,
                     struct err *reterr) {
        struct curl_slist *headers = headers_of(q);
        long status = 0;
        CURLcode code;

        str_clear(answer);
        c->answer = answer;
        c->max_answer = q->max_answer ? q->max_answer : HTTP_MAX_ANSWER;
        c->is_too_long = false;
        c->why[0] = '\0';
        set_options(c, q, headers);
        code = curl.easy_perform(c->easy);
        curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        curl.slist_free_all(headers);
        c->answer = NULL;
        if (code != CURLE_OK)
                return say_why(c, q, code, reterr);
        return (int)status;
}

int http_client_new(const struct http_client_options *o, struct http_client **ret,
                    struct err *reterr) {
        struct http_client *c;
        int r = curl_load(reterr);

        if (r < 0)
                return r;
        c = calloc(1, sizeof(*c));
        if (!c)
                abort();
        c->o = *o;
        c->easy = curl.easy_init();
        if (!c->easy)
                abort();
        *ret = c;
        return 0;
}

struct http_client *http_client_free(struct http_client *c) {
        if (!c)
                return NULL;
        curl.easy_cleanup(c->easy);
        free(c);
        return NULL;
}
