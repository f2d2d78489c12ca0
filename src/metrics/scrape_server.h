/* SPDX-License-Identifier: MIT */
/* Metrics over HTTP: GET /metrics. The library's thread takes requests and sends bytes that are there already; whoever runs the server
 * makes them, once for all who ask within a second. So the cost is the same however many ask, and whoever reads slowly holds nobody up.
 *
 * What comes in may be anything: at most 64 connections, of which the oldest goes when one more comes; 10 s for a request and its
 * answer; 16 KiB of head; no body. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "metrics/exposition.h"

struct scrape_server;

struct scrape_server_options {
        const char *address; /* as a number; "localhost" */
        uint16_t port;       /* 0: any that is free */
        void *ctx;
        /* Fills the set; what fails is answered with 500 and its sentence. In the thread that runs the server. */
        int (*collect)(void *ctx, struct metric_set *set, struct err *reterr);
        /* Between scrapes, about every second. True: the server is to end. NULL: never. */
        bool (*is_over)(void *ctx);
};

int scrape_server_start(const struct scrape_server_options *o, struct scrape_server **ret,
                        struct err *reterr);
const char *scrape_server_address(
        const struct scrape_server *s); /* "http://127.0.0.1:9464/metrics" */
bool scrape_server_is_loopback(const struct scrape_server *s);
/* 0: stop_fd became readable, or it is over. */
int scrape_server_run(struct scrape_server *s, int stop_fd, struct err *reterr);
struct scrape_server *scrape_server_free(struct scrape_server *s); /* NULL ok; returns NULL */
