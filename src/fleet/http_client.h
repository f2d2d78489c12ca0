/* SPDX-License-Identifier: MIT */
/* Sends something over HTTP and takes the answer, which is bounded in bytes and time. libcurl is loaded with the first client: no other
 * command pays for it. A server is not trusted: no redirect is followed, no other protocol spoken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

struct http_client;

struct http_client_options {
        const char *ca_file;         /* certificates that are trusted; NULL: the system's */
        const char *user, *password; /* NULL: none */
        /* Asked while nothing moves, a few times a second; true: give up. NULL: never */
        bool (*is_stopped)(void *ctx);
        void *ctx;
};

struct http_request {
        const char *url;
        const char *shown; /* the address as messages name it, without secrets */
        const char *content_type;
        bool is_gzip; /* the body is */
        const void *body;
        size_t n_body;
        uint64_t timeout_ms; /* for all of it; 0: HTTP_TIMEOUT_MS */
        size_t max_answer;   /* bytes; 0: HTTP_MAX_ANSWER */
};

enum { HTTP_TIMEOUT_MS = 60000, HTTP_CONNECT_MS = 10000, HTTP_MAX_ANSWER = 1 << 20 };

int http_client_new(const struct http_client_options *o, struct http_client **ret,
                    struct err *reterr);
struct http_client *http_client_free(struct http_client *c); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct http_client, http_client_free)

/* POSTs the body. The status, whatever it is, and what was answered, in *answer, which is emptied first. -ECANCELED: it was stopped;
 * else -errno: there is no answer, or not all of it. */
int http_client_post(struct http_client *c, const struct http_request *q, struct str *answer,
                     struct err *reterr);
