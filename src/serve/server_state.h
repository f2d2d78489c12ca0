/* SPDX-License-Identifier: MIT */
/* What a server consists of. Inside serve/ only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "serve/exchange.h"
#include "serve/http_gate.h"
#include "serve/listener.h"
#include "serve/mhd.h"
#include "serve/peers.h"
#include "serve/question_queue.h"
#include "serve/server.h"

struct server {
        struct server_options options;
        struct listener listener;
        struct gate gate;
        struct MHD_Daemon *daemon;
        struct peers peers;
        struct questions *questions;
        struct str address, key_address;
        int wake_fd; /* for the thread that runs it: somebody came, or waits */

        pthread_mutex_t
                lock; /* of the rest; may be held while peers' and questions' are taken, not the other way */
        bool is_stopping;
        bool is_key_used;
        struct exchange *waiting; /* connections that are suspended until there is news */
        size_t n_unread_bytes;    /* of answers that their clients have not taken */
        size_t n_open;            /* requests with the token that are not answered yet */
        bool has_served;          /* such a request was there: a page was opened */
        uint64_t last_ns;         /* when one ended */
};

/* False: the answers that nobody reads take too much memory. */
bool server_hold_answer(struct server *s, struct exchange *x, size_t n_bytes);
/* False: it was used before. */
bool server_use_key(struct server *s);
/* Suspends the connection until there is news; false: the server is stopping. */
bool server_wait_for_news(struct server *s, struct exchange *x);
