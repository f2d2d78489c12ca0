/* SPDX-License-Identifier: MIT */
/* The page and the API over HTTP: docs/http-api.md. The library's thread takes requests, seats (question_queue.h) answer them, and
 * whoever started the server runs it: that thread looks after clients' time, and after a trace that grows.
 *
 *   server_start(&options, &server, &err);
 *   puts(server_address(server));
 *   server_run(server, signal_fd);                   // until the descriptor is readable, or --once
 *   server_free(server); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/responder.h"

/* A file of the page, in the program. */
struct asset {
        const char *path; /* "/", "/page.js" */
        const char *type; /* "text/html; charset=utf-8" */
        const char *bytes;
        size_t n;
};

struct server_options {
        const char *listen; /* an address, as a number; NULL: 127.0.0.1 */
        uint16_t port;      /* 0: any that is free */
        bool once;          /* end when no page is open any more */
        const struct asset *assets;
        size_t n_assets;
        struct responder responder;
};

struct server;

int server_start(const struct server_options *o, struct server **ret, struct err *reterr);
const char *server_address(const struct server *s); /* "http://127.0.0.1:40213/?token=…" */
/* The same with a key that works once: for a browser's command line, which other users may see. */
const char *server_key_address(const struct server *s);
uint16_t server_port(const struct server *s);
bool server_is_loopback(const struct server *s);
/* 0: stop_fd became readable, or the last page was closed. */
int server_run(struct server *s, int stop_fd, struct err *reterr);
struct server *server_free(struct server *s); /* stops it; NULL ok; returns NULL */
