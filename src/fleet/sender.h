/* SPDX-License-Identifier: MIT */
/* Sends what a spool has to a server, in a thread of its own: the oldest first, many at a time where the server takes them so, again
 * and again, later each time, while it is away. */
#pragma once

#include "fleet/http_client.h"
#include "fleet/server_url.h"
#include "fleet/spool.h"

struct sender;

struct sender_options {
        const struct server_url *url; /* copied */
        const char *ca_file;
        struct spool *spool; /* must live longer */
        /* One line about what changed: away, back, refused. From the sender's thread. */
        void (*say)(void *ctx, const char *line);
        void *ctx;
};

struct sender_state {
        uint64_t n_sent, n_snapshots; /* batches, and what was in them */
        bool is_away;                 /* the last attempt failed */
        char why[480];                /* if so */
};

int sender_start(const struct sender_options *o, struct sender **ret, struct err *reterr);
void sender_wake(struct sender *s); /* there is something new */
/* Waits until the spool is empty, or the server has failed once more, for at most so long; then ends the thread. */
struct sender_state sender_end(struct sender *s, uint64_t timeout_ns);
